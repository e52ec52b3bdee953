/ Training on another thread, temporaries that go by themselves, views without a copy.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)seed 3
q)m:module seq(`sequential;(`linear;2;8);`tanh;(`linear;8;2))
q)M:model(addref m;loss`ce;opt(`adam;m;.05))
q)background(M;5)
'background: the model has no training data; give it with train(m;x;y)
q)x:4 2#0 0 0 1 1 0 1 1e
q)y:0 1 1 0
q)train(M;`batchsize;2)
q)train(M;x;y)
2
q)told:()
q)background(M;200;{[epoch;loss] told,:loss})
q)background(M;5)
'background: the model is being trained already; stop or wait for it first
q)type progress M
99h
q)class M
`model
q)l:wait M
q)count l
200
q)told~l
1b
q)(last l)<.1*first l
1b
q)wait M
'wait: the model was not trained by background
/ The same as without a thread.
q)A:{w:module seq(`sequential;(`linear;2;3);`tanh;(`linear;3;2)); {[w;n] s:size parm(w;n); parm(w;n;reshape(`real$sin til prd s;s))}[w]each parmnames w; w}
q)w1:A[]; w2:A[]
q)M1:model(addref w1;loss`ce;opt(`sgd;w1;.5)); M2:model(addref w2;loss`ce;opt(`sgd;w2;.5))
q)train(M1;x;y); train(M2;x;y);
q)background(M1;20)
q)(wait M1)~run each 20#enlist M2
1b
/ It can be ended, and q's errors end it.
q)background(M;1000000)
q)1000000>count stop M
1b
q)background(M;3;{[e;l] '`enough})
q)p:module(`sequential;(`callback;{[m;x] mul(x;2e)});enlist(`linear;2;2))
q)P:model(addref p;loss`ce;opt(`sgd;p;.1))
q)train(P;x;y)
1
q)background(P;3)
q)wait P
'wait: the training ended after 0 epochs: callback: calls q, which is for q's main thread only: train this module there
/ fails
q)l:wait M
the function for progress signalled 'enough
q)background(M;0)
'background: 0 epochs; use 1 or more
q)background(M;5;6)
'background: argument 3 is a long scalar, expected a function
q)stop 5
'stop: argument 1 is a long scalar, expected a model
q)free()
/ Handles that q lets go of are freed at the next call, if that is wanted.
q)setting`release
0b
q)a:tensor 1 2 3.
q)tensor mul(mul(a;2.);a)
2 8 18f
q)count obj[]
3
q)free()
q)setting(`release;1b)
q)a:tensor 1 2 3.
q)tensor mul(mul(a;2.);a)
2 8 18f
q)count obj[]
1
q)a:mul(a;a)
q)count obj[]
1
q)d:`x`y!(mul(a;2.);mul(a;3.))
q)count obj[]
3
q)d:0
q)count obj[]
1
q){b:mul(a;1.); '`error}[]
'error
q)count obj[]
1
q)tensor a
1 4 9f
q)b:a
q)a:0
q)tensor b
1 4 9f
q)setting(`release;0b)
q)b:0
q)count obj[]
1
q)free()
/ Views of simple lists: nothing is copied, and nobody writes.
q)v:til 5000
q)t:tensor(v;`view)
q)(Sum t)~Sum t
0b
q)(tensor t)~v
1b
q)fill(t;0)
'fill: assign_: the elements of this tensor of shape [5000] belong to somebody else and are only to be read: clone() it first
q)v[0]:100
q)first tensor t
0
q)w:View(t;50 100)
q)fill(w;7)
q)first tensor t
0
q)tensor(1 2 3.;`view`grad)
'tensor: `view is for a simple list as it is, without grad or another dtype, given double list
q)u:tensor(3000#1.;`view)
q)gradflag(u;1b)
'gradflag: requires_grad_: the elements of this tensor of shape [3000] belong to somebody else and are only to be read: clone() it first
q)to(t;`view)
'to: `view is an option of tensor, for a simple list of q's
q)z:3000#1.
q)o:tensor()
q)mul(z;2.;o)
q)z[0]:5.
q)first tensor o
2f
q)r:add(u;z)
q)z[0]:50.
q)first tensor r
6f
q)free()
