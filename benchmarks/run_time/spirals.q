/ examples/q/spirals.q by kilnq, for benchmarks/peers/spirals.cpp: 10000 epochs of 3 steps. Its processor time less that
/ of 1000 epochs is that of 27000 steps: time k_replay kilnq.so spirals.q
f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
seed 1
n:50
arm:{[n;k] r:(1+til n)%n; t:(4*r)+k*2.0943951; flip(r*sin t;r*cos t)}
x:"e"$raze arm[n]each til 3
y:raze n#'til 3
q:module seq(`sequential;(`linear;2;100);`relu;(`linear;100;3))
m:model(q;loss`ce;opt(`adamw;q;0.01))
train(m;`batchsize`shuffle;(50;1b))
train(m;x;y)
{[i] run m}each til 10000;
free()
