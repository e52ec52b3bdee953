/ Three arms of a spiral, told apart by a small network.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)seed 1
q)n:50
q)arm:{[n;k] r:(1+til n)%n; t:(4*r)+k*2.0943951; flip(r*sin t;r*cos t)}
q)x:"e"$raze arm[n]each til 3
q)y:raze n#'til 3
q)count each(x;y)
150 150
q)q:module seq(`sequential;(`linear;2;100);`relu;(`linear;100;3))
q)-2 str q;
torch::nn::Sequential(
  (0): torch::nn::Linear(in_features=2, out_features=100, bias=true)
  (1): torch::nn::ReLU()
  (2): torch::nn::Linear(in_features=100, out_features=3, bias=true)
)
q)parmnames q
`0.weight`0.bias`2.weight`2.bias
q)m:model(q;loss`ce;opt(`adamw;q;0.01))
q)train(m;`batchsize`shuffle;(50;1b))
q)train(m;x;y)
3
q)r:{run m}each til 200
q)last[r]<first r
1b
q)test(m;`metrics;`accuracy)
q)95<testrun(m;x;y)
1b
q)(avg y=tensor argmax(e:eforward(m;x);1))>0.95
1b
q)free()
