/ Layers, each beside what it means.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)set2:{[m;w;b] parm(m;`weight;w); parm(m;`bias;b)}
/ Convolutions of signals: differences of neighbours, of a batch or of one.
q)m:module enlist(`conv1d;1;1;2)
q)set2[m;enlist enlist 1 -1e;enlist .5e]
q)raze evaluate(m;enlist 1 2 4 7e)
-0.5 -1.5 -2.5e
q)size forward(m;tensor 3 1 4#1 2 4 7e)
3 1 3
q)m:module enlist(`conv1d;1;1;2;`stride`pad!2 1)
q)set2[m;enlist enlist 1 -1e;enlist .5e]
q)raze evaluate(m;enlist 1 2 4 7e)
-0.5 -1.5 7.5e
q)evaluate(m;2 4#1e)
'evaluate: Conv1d: got an input of shape [2, 4]; expected signals (N, C, L) or (C, L) with 1 along axis -2
/ Padding in words: sums of three, and as many of them as there are elements.
q)m:module enlist(`conv1d;1;1;3;1;`same)
q)set2[m;enlist enlist 1 1 1e;enlist 0e]
q)raze evaluate(m;enlist 1 2 3 4e)
3 6 9 7e
q)m:module enlist(`conv2d;1;1;3;1;`same;1;1;1b;`zeros)
q)set2[m;enlist enlist(1 1 1e;1 1 1e;1 1 1e);enlist 0e]
q)first evaluate(m;enlist(1 2e;3 4e))
10 10
10 10
q)size forward(module enlist(`conv2d;1;1;3;1;`valid);1 5 5#1e)
1 3 3
q)module enlist(`conv2d;1;1;2;1;`same)
'module: Conv2d: the option "padding" is "same", which needs as much on both sides: use an odd kernel, or pad before
q)module enlist(`conv2d;1;1;3;2;`same)
'module: Conv2d: the option "padding" is "same", which goes with a stride of 1
q)module enlist(`conv1d;1;1;3;`padmode,`reflect)
'module: Conv1d: the option "padding_mode" is "zeros" here: pad before the convolution
/ A transposed convolution by its stride puts a multiple of the kernel in the place of each element.
q)m:module enlist(`convtranspose2d;1;1;2;2)
q)set2[m;enlist enlist(1 2e;3 4e);enlist 0e]
q)first evaluate(m;enlist(1 2e;3 4e))
1 2  2  4 
3 4  6  8 
3 6  4  8 
9 12 12 16
q)backward Sum forward(m;enlist(1 2e;3 4e))
q)first first grad parm(m;`weight)
10 10
10 10
q)size forward(module enlist(`convtranspose2d;2;4;3;2;1;1;2);tensor(`randn;5 2 8 8))
5 4 16 16
/ Norms of groups of channels, and of each channel: mean 0, variance 1.
q)m:module enlist(`groupnorm;2;4)
q)parm(m;`weight;1 2 3 4e)
q)parm(m;`bias;0 0 0 1e)
/ tolerance 1e-5
q)raze raze evaluate(m;enlist(enlist 1e;enlist 3e;enlist 10e;enlist 20e))
-1 2 -3 5e
q)module enlist(`groupnorm;3;4)
'module: GroupNorm: the option "num_groups" is 3, which does not divide 4 channels
q)m:module enlist(`instancenorm1d;2)
q)count parmnames m
0
/ tolerance 1e-5
q)first evaluate(m;enlist(1 3e;10 20e))
-1 1
-1 1
q)m:module enlist(`instancenorm2d;2;1e-5;.1;1b)
q)parmnames m
`weight`bias
q)parm(m;`weight;1 3e)
/ tolerance 1e-5
q)raze raze evaluate(m;enlist(enlist 1 3e;enlist 10 20e))
-1 1
-3 3
q)evaluate(m;1 3 1 2#1e)
'evaluate: InstanceNorm2d: got an input of shape [1, 3, 1, 2]; expected images (N, C, H, W) with 2 along axis 1
/ Poolings of signals, as the functions of these names.
q)raze evaluate(module enlist(`maxpool1d;2);enlist 1 5 2 4 3e)
5 4e
q)raze evaluate(module enlist(`maxpool1d;2;2;0;1;1b);enlist 1 5 2 4 3e)
5 4 3e
q)raze evaluate(module enlist(`avgpool1d;2;1);enlist 1 5 2 4 3e)
3 3.5 3 3.5e
q)raze evaluate(module enlist(`adaptavg1d;2);enlist 1 5 2 4e)
3 3e
q)raze evaluate(module enlist(`adaptmax1d;2);enlist 1 5 2 4 3e)
5 4e
q)first evaluate(module enlist(`adaptmax2d;1 2);enlist 4 4#"e"$til 16)
13 15
q)first evaluate(module enlist(`avgpool2d;2;`stride`divisor!2 2);enlist 4 4#"e"$til 16)
5  9 
21 25
/ Other sizes, windows as columns, padding.
q)raze evaluate(module enlist(`upsample;4);enlist enlist 1 2e)
1 1 2 2
/ tolerance 1e-6
q)raze evaluate(module enlist(`upsample;`scale`mode`align!(2;`linear;1b));enlist enlist 1 2e)
1 1.333333 1.666667 2
q)c:module(`sequential;enlist(`unfold;2);enlist(`fold;3;2))
q)first evaluate(c;enlist 3 3#1 2 3 4 5 6 7 8 9e)
1 4  3 
8 20 12
7 16 9 
q)evaluate(module enlist(`pad;1 2);1 2 3)
0 1 2 3 0 0
q)evaluate(module enlist(`pad;1 0;9.);1 2 3e)
9 1 2 3e
q)evaluate(module enlist(`pad;1 1 0 1;`replicate);(1 2e;3 4e))
1 1 2 2
3 3 4 4
3 3 4 4
q)module enlist(`pad;1 2 3)
'module: padding by 3 numbers: expects two for each padded dimension
/ Shapes and choices.
q)evaluate(module enlist(`expand;-1 3);2 1#1 2)
1 1 1
2 2 2
q)evaluate(module enlist(`indexselect;0;2 0);3 2#til 6)
4 5
0 1
q)evaluate(module enlist(`onehot;4);2 0)
0 0 1 0
1 0 0 0
/ Dropout of whole channels, and of the paths of whole samples: each is gone or divided by what is kept.
q)seed 7
q)m:module enlist(`drop2d;.5)
q)y:nforward(m;tensor 50 20 3#1e)
q)d:distinct each raze tensor y
q)distinct count each d
,1
q)asc distinct raze d
0 2e
/ tolerance 1e-1
q)avg raze d
1f
q)raze evaluate(m;1 1 3#1 2 3e)
1 2 3
q)m:module enlist(`droppath;.75)
q)y:nforward(m;tensor 2000 3#1 1 1e)
q)d:distinct each tensor y
q)distinct count each d
,1
q)asc distinct raze d
0 4e
/ tolerance 2e-1
q)avg raze d
1f
q)evaluate(m;1 2 3e)
1 2 3e
q)y:nforward(module enlist(`droppath;1.);2 2#1e)
q)tensor y
0 0
0 0
q)module enlist(`droppath;1.5)
'module: DropPath: the option "p" is a probability: use one from 0 to 1
/ Two inputs: x by the identity by y.
q)m:module enlist(`bilinear;2;2;1)
q)set2[m;enlist(1 0e;0 1e);enlist .5e]
q)evaluate(m;(1 2e;1 0e);(3 4e;5 6e))
11.5
5.5 
q)evaluate(m;1 2e)
'evaluate: this layer (in1_features=2, in2_features=2, out_features=1, bias=True): takes 2 inputs, given 1
/ Slopes, and functions of elements.
q)m:module`prelu
q)evaluate(m;-2 3e)
-0.5 3e
q)backward Sum forward(m;-2 3 -4e)
q)grad parm(m;`weight)
,-6e
q)evaluate(module enlist(`prelu;2;.5);(-2 4e;3 -1e))
-1 4   
3  -0.5
q)evaluate(module enlist(`rrelu;.2;.4);-1 1e)
-0.3 1e
q)y:nforward(module enlist(`rrelu;.5;.5);-1 1e)
q)tensor y
-0.5 1e
q)evaluate(module enlist(`threshold;1;-5.);0 1 2e)
-5 -5 2e
q)evaluate(module`hardsigmoid;-4 0 3e)
0 0.5 1e
q)evaluate(module`hardswish;-4 0 4e)
0 0 4e
/ tolerance 1e-6
q)evaluate(module enlist(`softmin;0);0 1e)
0.7310586 0.2689414e
/ tolerance 1e-6
q)evaluate(module`glu;1 2 3 4e)
0.9525741 1.964028e
/ Functions of elements without options, at -1.
/ tolerance 1e-6
q){evaluate(module x;-1e)}each`relu`relu6`selu`silu`mish`gelu`sigmoid
0 0 -1.111331 -0.2689414 -0.3034015 -0.1586553 0.2689414e
/ tolerance 1e-6
q){evaluate(module x;-1e)}each`logsigmoid`softsign`tanh`tanhshrink`leakyrelu`elu`celu
-1.313262 -0.5 -0.7615942 -0.2384058 -0.01 -0.6321206 -0.6321206e
/ tolerance 1e-6
q){evaluate(module x;-1e)}each`softshrink`hardshrink`softplus`hardtanh`identity
-0.5 -1 0.3132617 -1 -1e
/ Embeddings of positions, and of tokens with these.
q)m:module enlist(`embedpos;4;2)
q)parm(m;`pos;enlist 4 2#"e"$til 8)
q)first evaluate(m;5 6 7)
0 1
2 3
4 5
q)evaluate(m;til 5)
'evaluate: embedpos: got an input of shape [5] with 5 positions; expected 4 at most
q)evaluate(m;1)
'evaluate: embedpos: got one number; expected a list of tokens, or lists of them
q)m:module enlist(`embedseq;3;2;4)
q)parmnames m
`tok.weight`pos.pos
q)parm(m;`tok.weight;(0 0e;10 10e;20 20e))
q)parm(m;`pos.pos;enlist 4 2#"e"$til 8)
q)first evaluate(m;enlist 1 2)
10 11
22 23
q)backward Sum forward(m;enlist 1 2)
q)grad parm(m;`tok.weight)
0 0
1 1
1 1
q)first grad parm(m;`pos.pos)
1 1
1 1
0 0
0 0
/ Rows that are given, learned or, frozen, not.
q)m:module enlist(`embed;(1 2e;3 4e;5 6e))
q)evaluate(m;2 0)
5 6
1 2
q)gradient parm(m;`weight)
`grad
q)size parm(m;`weight)
3 2
q)m:module enlist(`embed;(1 2e;3 4e;5 6e);1b)
q)gradient parm(m;`weight)
`nograd
q)evaluate(clone m;1)
3 4e
q)m:module enlist(`embed;`weight`padindex!((1 2e;3 4e);0))
q)evaluate(m;1 0)
3 4
1 2
q)module enlist(`embed;1 2e)
'module: embed: the weight has sizes [2], expected rows and columns
/ Attention of a sequence to itself: by identities, its own products are mixed by softmax of x times x transposed over
/ the root of the width; one head and two.
q)eye2:{[n] `real$(til n)=\:til n}
q)attend:{[m;n] parm(m;`in.weight;(3*n)#eye2 n); parm(m;`in.bias;(3*n)#0e); parm(m;`out.weight;eye2 n); parm(m;`out.bias;n#0e)}
q)m:module enlist(`selfattention;2;1)
q)attend[m;2]
/ tolerance 1e-6
q)first evaluate(m;enlist(1 0e;0 1e))
0.6697615 0.3302385
0.3302385 0.6697615
/ tolerance 1e-6
q)first evaluate(m;enlist(1 0e;0 1e);(0 -0we;0 0e))
1         0        
0.3302385 0.6697615
/ tolerance 1e-6
q)first evaluate(m;enlist(1 0e;0 1e);(011b;001b;000b))
1         0        
0.3302385 0.6697615
q)m:module enlist(`selfattention;4;2)
q)attend[m;4]
/ tolerance 1e-6
q)first evaluate(m;enlist(1 0 2 0e;0 1 0 2e))
0.6697615 0.3302385 1.888386  0.1116144
0.3302385 0.6697615 0.1116144 1.888386 
q)parmnames module enlist(`selfattention;4;2;.1;1b)
`norm.weight`norm.bias`in.weight`out.weight`out.bias
q)(evaluate(clone m;enlist(1 0 2 0e;0 1 0 2e)))~evaluate(m;enlist(1 0 2 0e;0 1 0 2e))
1b
q)module enlist(`selfattention;3;2)
'module: selfattention: the option "heads" is 2, which does not divide 3 dimensions
q)evaluate(m;1 2 3 4e)
'evaluate: selfattention: got an input of shape [4]; expected sequences (batch, length, dim) with 4 along axis 2
/ Standardised by given numbers, one or one for each channel.
q)m:module enlist(`zscore;.5;.25)
q)evaluate(m;1 0e)
2 -2e
q)buffernames m
`mean`stddev
q)m:module enlist(`zscore;1 10.;1 5.)
q)raze evaluate(m;(enlist 1 3e;enlist 10 20e))
0 2
0 2
q)raze evaluate(module state m;(enlist 1 3e;enlist 10 20e))
0 2
0 2
q)module enlist(`zscore;.5)
'module: zscore: needs the options `mean and `std
/ Random parts and turns, in training, and what is standardised either way.
q)t:module(`transform;(`sequential;enlist(`randomflip;1.;-1);enlist(`randomcrop;2;1);enlist(`zscore;1.;2.));(`sequential;enlist(`zscore;1.;2.)))
q)evaluate(t;(1 3e;5 7e))
0 1
2 3
q)y:nforward(t;(1 3e;5 7e))
q)size y
2 2
q)z:nforward(module enlist(`randomflip;1.);(1 3e;5 7e))
q)tensor z
3 1
7 5
q)z:nforward(module enlist(`randomcrop;1;`pad`padmode!(1;`replicate));2 1 2 2#5e)
q)raze raze tensor z
5
5
q)module enlist(`randomcrop;0)
'module: expects a size, 1 or more
/ seqlist: one after the other; the further inputs go to each that takes them.
q)s:module(`seqlist;(`sequential;`add);(`sequential;`relu);(`sequential;`mul))
q)evaluate(s;1 -5e;2 2e)
6 0e
q)(module s)`module
`seqlist`sequential`add`sequential`relu`sequential`mul
q)evaluate(module(`residual;`mul);3e;4e)
15e
/ nbeats: each block takes away what it explains, and forecasts are added: 4 gives 8, then 2 gives 4, then 1 gives 2.
q)l:{[w] m:module enlist(`linear;1;1); fill(parm(m;`weight);w); fill(parm(m;`bias);0); m}
q)block:{[b;f] m:module`fork; module(m;l b); module(m;l f); m}
q)n:module`nbeats
q)module(n;block[.5;2])
q)module(n;block[.5;2])
q)evaluate(n;enlist 4e)
,12e
q)k:module`modulelist
q)module(k;block[.5;2])
q)module(n;k)
q)evaluate(n;enlist 4e)
,14e
q)module(n;`relu)
q)evaluate(n;enlist 4e)
'evaluate: NBeats: a block gives 1 results, needs 2: what it explains of its input, and its forecast
/ cat joins along the first dimension unless another is named.
q)evaluate(module`cat;1 2 3e;4 5 6e)
1 2 3 4 5 6e
/ What a layer is not, and what kiln has not.
q)module enlist(`glu;1;2)
'module: glu: 2 options given, at most 1 stand by position
q)module enlist(`instancenorm1d;2;`track,1b)
'module: InstanceNorm1d: the option "track_running_stats" is false here: an instance norm takes the statistics of its input
q)free()
