/ A quick start: tensors, gradients, a regression by hand and by a model.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)x:tensor(1 2 3.0; `grad)
q)y:mul(x;x)
q)z:mean(y)
q)backward z
q)grad x
0.6666667 1.333333 2
q)free(x;y;z)

/ A linear regression: y is 2 x + 1, found by sgd.
q)X:flip enlist -1 -0.5 0 0.5 1 1.5e
q)Y:1+2*X
q)m:module enlist(`linear;1;1)
q)l:loss`mse
q)o:opt(`sgd;m;0.1)
q)fit:{[i] p:forward(m;X); e:loss(l;p;Y); nograd m; backward e; step o; r:tensor e; free(p;e); r}
q)r:fit each til 300
q)last[r]<1e-5
1b
/ tolerance 0.02
q)raze raze tensor parm(m;`weight)
,2e
q)lr o
,0.1
q)free(l;o)

/ The same within a model, which keeps data and goes through it in batches.
q)m:model(m;loss`mse;opt(`sgd;m;0.1))
q)train(m;X;Y)
1
q)run[m]<1e-5
1b
q)class m
`model
q)free()
