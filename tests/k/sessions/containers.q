/ Modules made of others, beside sequential.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)set2:{[m;w;b] fill(parm(m;`weight);w); fill(parm(m;`bias);b)}
q)l:{[w;b] m:module enlist(`linear;1;1); set2[m;w;b]; m}
/ residual: what comes out of the first part and the input, or the second part; a third takes the sum.
q)r:module`residual
q)module(r;l[2;1])
q)evaluate(r;enlist 4e)
,13e
q)module(r;l[-3;.5])
q)evaluate(r;enlist 4e)
,-2.5e
q)module(r;`relu)
q)evaluate(r;enlist 4e)
,0e
q)parmnames r
`0.weight`0.bias`1.weight`1.bias
q)module(r;`relu)
q)evaluate(r;enlist 4e)
'evaluate: Residual: has 4 parts, needs 1 to 3
/ fork: both results.
q)k:module(`fork;`identity;(`reshape;2 1))
q)evaluate(k;1 2e)
1   2  
,1e ,2e
q)v:forward(k;1 2e)
q)class v
`vector
q)size v
,2
2 1
q)vector(v;1)
1
2
q)moduletypes k
 | fork
0| identity
1| reshape
/ seqjoin: two parts and what joins them.
q)j:module(`seqjoin;`relu;`identity;`mul)
q)evaluate(j;-2 3e)
0 9e
q)evaluate(j;-2 3e;5 5e)
0 15e
q)(module j)`module
`seqjoin`relu`identity`mul
q)c:module(`seqjoin;`sequential;`sequential;enlist(`cat;0))
q)evaluate(c;1 2e;3 4e)
1 2 3 4e
q)evaluate(c;1 2e;3 4e;5e)
'evaluate: SeqJoin: takes one input for both parts or one for each, given 3
/ seqnest: the first part takes several inputs.
q)n:module(`seqnest;`matmul;`relu)
q)evaluate(n;(1 2e;3 4e);1 -2e)
0 0e
q)evaluate(n;(1 2e;3 4e);-1 2e)
3 5e
q)evaluate(n;1 2e)
'evaluate: Matmul: takes two inputs or more, given 1
/ transform: another way in training than in evaluation.
q)t:module(`transform;`relu;`identity)
q)evaluate(t;-1 1e)
-1 1e
q)y:nforward(t;-1 1e)
q)tensor y
0 1e
/ recur: a recurrent layer with its states, and what its output goes through.
q)seed 1
q)w:module(`recur;enlist(`gru;2;3);enlist(`linear;3;1))
q)x:4 1 2#1 2 3 4 5 6 7 8e
q)a:evaluate(w;x)
q)count each a
4 1
q)b:evaluate(w;2#x)
q)e:evaluate(w;-2#x;b 1)
/ tolerance 1e-6
q)max abs raze raze(a 0)-(b 0),e 0
0e
/ tolerance 1e-6
q)max abs raze raze(a 1)-e 1
0e
q)s:module enlist(`lstm;2;3)
q)count evaluate(s;x;::;::)
3
q)count evaluate(s;x)
4
q)h:module((`recur;1b);enlist(`rnn;2;3))
q)z:forward(h;x)
q)d:tensor z
q)gradient each d
`grad`nograd
/ Chains of forks: several results go from part to part.
q)u:module(`sequential;(`fork;`relu;`identity);`add)
q)evaluate(u;-1 2e)
-1 4e
/ A part changes for all that share it.
q)i:module`sequential
q)o:module(`sequential;`relu)
q)module(o;addref i)
q)module(i;`tanh)
/ tolerance 1e-6
q)evaluate(o;-1 1e)
0 0.7615942e
/ None becomes a part of itself, however deep.
q)module(i;addref i)
'module: Sequential: a module cannot become a part of itself
q)module(i;addref o)
'module: Sequential: a module cannot become a part of itself
q)module(o;2;addref i)
'module: Sequential: a module cannot become a part of itself
q)module(o;3;`relu)
'module: cannot append to tanh at depth 3
q)g:module(`sequential;(`sequential;enlist`sequential))
q)p:child(g;0)
q)module(g;2;addref p)
'module: Sequential: a module cannot become a part of itself
q)module(g;2;addref g)
'module: Sequential: a module cannot become a part of itself
/ Definitions and states make them again.
q)q2:module state r:module(`residual;enlist(`linear;1;1))
q)(evaluate(q2;enlist 3e))~evaluate(r;enlist 3e)
1b
q)module enlist(`rnn;2;3;1;`relu)
'module: RNN: the option "nonlinearity" is "tanh" here
q)module enlist(`fork;`detach;1b)
'module: fork: 1 options given, at most 0 stand by position
q)free()
