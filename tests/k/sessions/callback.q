/ Modules whose passes are functions of q.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
/ The function gets the module and handles; gradients go through what it calls.
q)m:module(`callback;{[m;x] mul(x;x)})
q)x:tensor(1 2 3.;`grad)
q)y:forward(m;x)
q)tensor y
1 4 9f
q)s:Sum y
q)backward s
q)grad x
2 4 6f
q)count obj[]
4
q)evaluate(m;1 2e)
1 4e
/ With parameters, which are learned as others are.
q)w:module(`callback;`line;`fn`parms!({[m;x] add(mul(x;parm(m;`w));parm(m;`b))};`w`b!(2.;1.)))
q)parmnames w
`w`b
q)evaluate(w;1 2.)
3 5f
q)o:opt(`sgd;addref w;.1)
q)l:mse(forward(w;1 2.);5 9.)
q)backward l
q)grad parm(w;`b)
-6f
q)grad parm(w;`w)
-10f
q)step o
q)tensor parm(w;`w)
3f
/ In a chain, and by name: the function is looked up at each call.
q)twice:{[m;x] mul(x;2)}
q)c:module(`sequential;(`callback;`cb;`fn,`twice);`relu)
q)evaluate(c;-1 3e)
0 6e
q)twice:{[m;x] mul(x;3)}
q)evaluate(c;-1 3e)
0 9e
/ Values in place of handles, and the gradient by a function of q.
q)fwd:{[m;x] x*x}
q)bwd:{[m;x;g] 2*x*g}
q)v:module(`callback;`sq;`fn`back`in!(`fwd;`bwd;`value))
q)x2:tensor(1 2 3.;`grad)
q)y2:forward(v;x2)
q)backward(y2;1 10 100.)
q)grad x2
2 40 600f
q)y3:eforward(v;x2)
q)gradient y3
`nograd
/ Gradients of several inputs and of parameters stand in a list.
q)p:module(`callback;`p;`fn`back`in`parms!({[m;x;y] x*y*tensor parm(m;`k)};{[m;x;y;g] k:tensor parm(m;`k); (g*y*k;g*x*k;sum g*x*y)};`value;enlist[`k]!enlist 3.))
q)a:tensor(1 2.;`grad); b:tensor(3 4.;`grad)
q)yp:forward(p;a;b)
q)tensor yp
9 24f
q)backward(yp;1 1.)
q)grad a
9 12f
q)grad b
3 6f
q)grad parm(p;`k)
11f
/ What goes wrong is an error, and leaves nothing behind.
q)n:count obj[]
q)e:module(`callback;{[m;x] t:mul(x;x); '`bad})
q)forward(e;1 2e)
'forward: callback: the function of q signalled 'bad
q)e2:module(`callback;`e2;`fn,`nosuch)
q)evaluate(e2;1 2e)
'evaluate: callback: there is no function `nosuch in q ('nosuch)
q)e3:module(`callback;{[m;x] `a`b})
q)evaluate(e3;1 2e)
'no torch type found for k: symbol list
q)e4:module(`callback;`e4;`fn`back`in!(`fwd;{[m;x;g] 1_x};`value))
q)x4:tensor(1 2 3.;`grad)
q)y4:forward(e4;x4)
q)backward(y4;1 1 1.)
'backward: callback: the gradient 0 has sizes [2], expected [3]
q)grad x4
q)e5:module(`callback;`e5;`fn`back`in!(`fwd;{[m;x;g] '`stop};`value))
q)y5:forward(e5;x4)
q)backward(y5;1 1 1.)
'backward: callback: the function of q signalled 'stop
q)(count obj[])-n
8
q)module`callback
'module: callback: needs the option `fn, a function or its name
q)module(`callback;5)
'module: callback: option `fn is a long scalar, expected a function or its name
q)module(`callback;`x;`fn`parms!(`fwd;5))
'module: callback: option `parms is a long scalar, expected a dictionary of arrays
/ Trained as a model; the definition makes it again.
q)W:module(`callback;`line;`fn`parms!({[m;x] mul(x;parm(m;`w))};enlist[`w]!enlist 0.))
q)W2:module state W
q)parm(W2;`w;7.)
q)M:model(addref W;loss`mse;opt(`sgd;W;.05))
q)train(M;`batchsize;4)
q)train(M;1 2 3 4.;2 4 6 8.)
1
q){[i] run M}each til 60;
/ tolerance 1e-3
q)evaluate(M;10.)
20f
q)evaluate(W2;10.)
70f
q)free()
