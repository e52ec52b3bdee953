/ Modules: forms of definitions, parts, parameters, passes.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)m:module seq(`sequential;(`linear;`fc;2;3);`relu)
q)-2 str m;
torch::nn::Sequential(
  (fc): torch::nn::Linear(in_features=2, out_features=3, bias=true)
  (1): torch::nn::ReLU()
)
q)parmnames m
`fc.weight`fc.bias
q)childnames m
`fc`1
q)moduletypes m
  | sequential
fc| linear
1 | relu
q)parmtypes m
fc.weight| linear
fc.bias  | linear
q)parm(m;`fc.weight;(1 2e;3 4e;-5 6e))
q)parm(m;`fc.bias;1 1 1e)
q)evaluate(m;1 1e)
4 8 2e
q)evaluate(m;enlist -1 0e)
0 0 6
q)m2:module state m
q)(tensor parm(m;`fc.weight))~tensor parm(m2;`fc.weight)
1b
q)evaluate(m2;1 1e)
4 8 2e
q)c:clone m
q)fill(parm(c;`fc.weight);0)
q)evaluate(m;1 1e)
4 8 2e
q)module(m;`tanh)
q)childnames m
`fc`1`2
q)r:module`relu
q)module(m;r)
q)mapped r
0b
q)count module m
5
q)p:parms m
q)names p
`fc.weight`fc.bias
q)y:forward(m;2 2#1 1 2 2e)
q)s:Sum y
q)backward s
q)size grad parm(m;`fc.weight)
3 2
q)nograd m
q)grad parm(m;`fc.weight)
q)freeze m
q)gradient parm(m;`fc.weight)
`nograd
q)unfreeze m
q)training m
1b
q)training(m;0b)
q)training m
0b
/ A dropout does nothing in evaluation.
q)d:module seq(`sequential;(`drop;.5))
q)evaluate(d;1 2 3e)
1 2 3e
q)b:module enlist(`batchnorm1d;2)
q)buffernames b
`running_mean`running_var`num_batches_tracked
q)k:module seq(`sequential;(`conv2d;1;2;3);`relu;(`maxpool2d;2);`flatten;(`linear;18;4))
q)size forward(k;tensor(`randn;5 1 8 8))
5 4
q)g:module enlist(`gru;3;4)
q)parmnames g
`weight_ih_l0`weight_hh_l0`bias_ih_l0`bias_hh_l0
q)evaluate(module enlist(`reshape;2 2);1 2 3 4e)
1 2
3 4
q)module`foo
'module: unrecognized or not offered module `foo; kiln has sequential, linear, conv2d, batchnorm1d, relu and others, which docs/q/README.md lists
q)module enlist(`linear;2)
'module: Linear: needs the option "out_features", which was not given
q)module enlist(`linear;2;3;`biass,0b)
'module: linear: unrecognized option `biass
q)module(m;m)
'module: Sequential: a module cannot become a part of itself
q)mapped m
1b
q)to(m;`double)
'to: a module of float parameters does not change its dtype; make one anew
q)free()
