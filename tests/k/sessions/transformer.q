/ The transformer, beside torch's with the same parameters (tests/k/transformer.py).
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)m:module enlist(`transformer;4;2;1;2;8;0.)
q)n:asc parmnames m
q)count n
52
q)set1:{[i] s:size parm(m;n i); parm(m;n i;reshape(`real$.5*sin i+.7*til prd s;s))}
q)set1 each til count n;
q)src:reshape(`real$cos til 24;3 2 4)
q)tgt:reshape(`real$sin til 16;2 2 4)
/ tolerance 2e-6
q)max abs(raze raze evaluate(m;src;tgt))--0.0864144 -0.4207852 0.0905442 0.7803126 -0.0834652 -0.4207734 0.0734744 0.7978518 -0.0875870 -0.4207905 0.1002500 0.7695038 -0.0846386 -0.4207772 0.0774763 0.7941138e
0e
/ A mask that hides later times from the target.
q)t:tensor(tgt;`grad)
q)y:forward(m;src;t;::;(0 -0we;0 0e))
/ tolerance 2e-6
q)max abs(raze raze tensor y)--0.0863507 -0.4207849 0.0900459 0.7808547 -0.0833514 -0.4207731 0.0731052 0.7981897 -0.0875860 -0.4207905 0.1002416 0.7695133 -0.0846368 -0.4207772 0.0774675 0.7941225e
0e
q)backward(y;reshape(`real$til 16;2 2 4))
/ tolerance 2e-5
q)max abs(raze raze grad t)--0.0091135 -0.0079134 0.0081872 0.0036262 0.0011471 -0.0123889 0.0043656 0.0002834 0.0132083 -0.0128219 -0.0015318 0.0003405 -0.0051423 -0.0253531 0.0184946 0.0114054e
0e
q)evaluate(m;src)
'evaluate: transformer: takes a source, a target and up to three masks, given 1 inputs
q)e:children(m;`encoder.layers.0)
q)size eforward(e`self_attn;src)
3 2 4
q)module(m;`relu)
'module: cannot append to transformer at depth 1
q)free()
