/ Products, triangles, softmax.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)a:(1 2.;3 4.)
q)mm(a;a)
7  10
15 22
q)mmt(a;a)
5  11
11 25
q)mtm(a;a)
10 14
14 20
q)mv(a;1 1.)
3 7f
q)matmul(a;1 1.)
3 7f
q)dot(1 2 3.;4 5 6.)
32f
q)outer(1 2.;3 4.)
3 4
6 8
q)addmm(a;a;a;2.;1.)
9  14
21 30
q)addmv(1 1.;a;1 1.)
4 8f
q)triu 2 2#1 2 3 4
1 2
0 4
q)tril(2 2#1 2 3 4;-1)
0 0
3 0
q)diag 2 2#1 2 3 4
1 4
q)diag 1 2.
1 0
0 2
q)trace 2 2#1 2 3 4
5
/ tolerance 1e-6
q)softmax(0 0.6931472 1.098612;0)
0.1666667 0.3333333 0.5
/ tolerance 1e-6
q)logsoftmax 0 0.
-0.6931472 -0.6931472
q)linear(1 1.;(1 2.;3 4.);10 20.)
13 27f
q)zscore(1 3.;2.;.5)
-2 2f
q)t:tensor a
q)class mm(t;a)
`tensor
q)o:tensor()
q)mm(t;t;o)
q)tensor o
7  10
15 22
q)mm(1 2.;a)
'mm: expects 2 and 2 dimensions, given sizes [2] and [2, 2]
/ fails
q)mm((1 2.;3 4.);(1 2.;3 4.;5 6.))
mm: 
q)leakyrelu(-1 1.;.5)
-0.5 1
q)elu -1 1.
-0.6321206 1
q)hardtanh(-3 0 3.;-2;2)
-2 0 2f
q)softplus 0.
0.6931472
q)threshold(1 5.;2.;0.)
0 5f
q)frac -1.25 1.5
-0.25 0.5
q)b:2 2 2#1 2 3 4 5 6 7 8.
q)first baddbmm(b;b;b)
8  12
18 26
q)last baddbmm(b;b;b)
72 84 
98 114
q)addbmm(0.;b;b)
74  88 
106 128
q)addbmm(2 2#1.;b;b;2.;.5)
39 46
55 66
q)x:3 3#0 1 2 3 4 5 6 7 8.
q)tensordot(x;x;1)
15 18 21 
42 54 66 
69 90 111
q)tensordot(x;x;2)
204f
q)size tensordot(tensor 3 4 5#"f"$til 60;tensor 4 3 2#"f"$til 24;1 0;0 1)
5 2
q)tensordot(3 4 5#"f"$til 60;4 3 2#"f"$til 24;1 0;0 1)
4400 4730
4532 4874
4664 5018
4796 5162
4928 5306
q)multidot(x;x;1 0 0.)
15 42 69f
q)size multidot(tensor 50 3#1.;tensor 3 50#1.;tensor 50 2#1.)
50 2
q)Cross(1 0 0.;0 1 0.)
0 0 1f
q)Cross(2 3#1 2 3 4 5 6;2 3#7 8 9 1 1 2)
-6 12 -6
4  -2 -1
q)diagflat 1 2 3
1 0 0
0 2 0
0 0 3
q)diagflat(1 2;1)
0 1 0
0 0 2
0 0 0
q)diagflat(1 2 3;-3)
0 0 0 0 0 0
0 0 0 0 0 0
0 0 0 0 0 0
1 0 0 0 0 0
0 2 0 0 0 0
0 0 3 0 0 0
q)diag(1 2;-1)
0 0 0
1 0 0
0 2 0
q)size tensordot(tensor(`zeros;2 0;`double);tensor(`zeros;0 3;`double);1)
2 3
q)tensordot(x;x;4)
'tensordot: cannot sum over 4 dimensions of sizes [3, 3] and [3, 3]
  [0]  tensordot(x;x;4)
       ^
q)multidot(x;2 2#1.)
'multidot: matrix 2 of sizes [2, 2] does not fit that before it, of sizes [3, 3]
  [0]  multidot(x;2 2#1.)
       ^
q)Cross(1 2.;3 4.)
'Cross: expects 3 elements along a dimension, given sizes [2]
  [0]  Cross(1 2.;3 4.)
       ^
q)free()
