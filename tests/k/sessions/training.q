/ Losses, optimizers, models.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
/ tolerance 1e-6
q)mse(1.2 1.9 3.1;1 2 3.)
0.02
q)mse(1.2 1.9 3.1;1 2 3.;`sum)
0.06
q)mse(1.2 1.9 3.1;1 2 3.;`reduce`none)
0.04 0.01 0.01
q)l1(1 2 3.;2 2 1.)
1f
q)bce(.1 .9e;0 1e)
0.1053605e
q)ce(2 2#0 0 0 0.;0 1)
0.6931472
q)loss loss(`ce;`smoothing,.1)
loss   | `ce
options| (,`smoothing)!,0.1
q)loss`foo
'loss: unrecognized or not offered loss `foo, expected one of mse l1 smoothl1 huber bce bcelogits ce nll kl hinge softmargin multisoft multimargin multilabel poissonloss cosineloss margin triplet
/ One step of sgd, by hand: the gradient of w is 2 * (w x - y) * x.
q)w:tensor(enlist 1.;`grad)
q)o:opt(`sgd;w;.1)
q)z:mse(mul(w;2.);enlist 6.)
q)backward z
q)grad w
,-16f
q)step o
q)tensor w
,2.6
q)lr o
,0.1
q)lr(o;.5)
q)lr o
,0.5
q)lr(o;-1.)
'lr: a learning rate of -1; use 0 or more
q)clip(w;8.)
16f
q)grad w
,-8f
q)clipv(w;1.)
q)grad w
,-1f
q)opt`foo
'opt: unrecognized or not offered optimizer `foo, expected one of sgd adam adamw lamb lbfgs adagrad rmsprop
q)opt(`adam;w;`lrr,.1)
'opt: adam: unrecognized option `lrr
q)opt(`sgd;1 2)
'opt: parameters are a module, tensor, vector or dict, given long list
/ A group more, with a rate of its own.
q)v:tensor(2 2.;`grad)
q)opt(o;1;v;.25)
q)lr o
0.5 0.25
q)size o
2
/ A model takes its parts.
q)seed 3
q)m:module seq(`sequential;(`linear;2;8);`tanh;(`linear;8;2))
q)q:addref m
q)M:model(m;loss`ce;opt(`adam;m;.05))
q)mapped m
0b
q)x:4 2#0 0 0 1 1 0 1 1e
q)y:0 1 1 0
q)train(M;`batchsize`metrics;(2;`loss`accuracy`matches))
q)train(M;x;y)
2
q)r:{[i] run M}each til 200
/ tolerance 0.1
q)1_last r
100f
4 4
q)test(M;`metrics;`predict)
q)testrun(M;x;y)
0 1 1 0
q)test(M;`metrics`dictionary;(`accuracy;1b))
q)testrun M
accuracy| 100
q)datasize M
4
q)batchinit M
2
q)count{r:(); while[batch x; r,:backstep x]; r}M
2
q)c:copyparms M
q)fill(parm(q;`0.weight);0)
q)avgparms(M;c)
2
q)free c
q)c:copyparms M
q)fill(parm(q;`0.weight);3)
q)avgparms(M;c)
2
q)(dict(c;`0.weight))~8 2#1.5e
1b
q)copyparms(M;c);
q)free c
q)test(M;`metrics`dictionary;(`loss;0b))
q)testrun[M]>.1
1b
q)train(M;`metrics;`loss)
q)r:{[i] run M}each til 200
q)test(M;`metrics`dictionary;(`accuracy;1b))
q)c:copyparms M
q)fill(parm(q;`0.weight);0)
q)copyparms(M;c)
0.weight| 1
0.bias  | 1
2.weight| 1
2.bias  | 1
q)testrun M
accuracy| 100
q)train(M;`batchsize`shuffle;(3;7))
'train: `shuffle is a long scalar, expected a boolean scalar
q)train(M;`batchsize)
2
q)train(M;x;1 2)
'train: 4 rows of inputs, 2 of targets
q)model(M;M)
'model: argument 2 is a model, expected a module, loss or optimizer
q)key model M
`module`loss`optimizer`train`test
/ The statistics of batch norms are the means over the batches: of 1 2 and of 3 4 here.
q)n:module seq(`sequential;(`batchnorm1d;1))
q)B:model(addref n;loss`mse;opt(`sgd;n;.1))
q)batchnorm B
'batchnorm: the model has no training data; give it with train(m;x;y)
q)train(B;`batchsize;2)
q)train(B;4 1#1 2 3 4e;4 1#0e)
2
q)batchnorm B
1
q)tensor buffer(n;`0.running_mean)
,2.5e
q)tensor buffer(n;`0.running_var)
,0.5e
q)batchnorm n
'batchnorm: argument 1 is a module, expected a model
q)free()
