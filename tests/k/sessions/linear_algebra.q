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
q)free()
