/ Decompositions, checked by what they mean.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)a:(4 3.;6 3.)
q)det a
-6f
/ tolerance 1e-6
q)inverse a
-0.5 0.5
1 -0.6666667
/ tolerance 1e-9
q)solve(a;10 12.)
1 2
/ tolerance 1e-9
q)solve(a;(10 3.;12 6.))
1 1.5
2 -1
q)slogdet a
-1f
1.791759
q)logdet(2 0.;0 3.)
1.791759
q)s:(4 1 2.;1 3 0.;2 0 5.)
q)l:chol s
/ tolerance 1e-12
q)mmt(l;l)
4 1 2
1 3 0
2 0 5
/ tolerance 1e-9
q)matmul(s;cholsolve(1 0 2.;l))
'cholsolve: expects a matrix or a stack of them, given sizes [3]
/ tolerance 1e-9
q)matmul(s;cholsolve(3 1#1 0 2.;l))
1
0
2
/ tolerance 1e-9
q)mm(s;cholinverse l)
1 0 0
0 1 0
0 0 1
q)chol(1 2.;2 1.)
'chol: the matrix is not positive definite
q)last cholx(1 2.;2 1.)
1i
q)e:eigh s
/ tolerance 1e-9
q)mm(last e;mmt(diag first e;last e))
4 1 2
1 3 0
2 0 5
q)r:3 2#1 2 3 4 5 6.
q)q:qr r
/ tolerance 1e-12
q)mm(q 0;q 1)
1 2
3 4
5 6
/ tolerance 1e-12
q)mtm(q 0;q 0)
1 0
0 1
q)u:svd r
/ tolerance 1e-12
q)mm(u 0;mm(diag u 1;u 2))
1 2
3 4
5 6
/ tolerance 1e-6
q)svdvals r
9.525518 0.5143006
/ tolerance 1e-9
q)mm(pinverse r;r)
1 0
0 1
q)mrank(1 2 3.;2 4 6.)
1
/ tolerance 1e-6
q)nnorm r
10.03982
/ tolerance 1e-9
q)lstsq(r;3 1#1 2 3.)
0
0.5
q)p:lun a:(1 2 3.;4 5 6.;7 8 10.)
/ tolerance 1e-12
q)mm(p 0;mm(p 1;p 2))
1 2 3
4 5 6
7 8 10
q)g:lu a
q)g 1
3 3 3i
/ tolerance 1e-9
q)mm(a;lusolve(3 1#1 2 3.;g 0;g 1))
1
2
3
/ tolerance 1e-12
q)trisolve(2 1#4 6.;(2 1.;0 3.))
1
2
q)power((1 1;0 1);5)
1 5
0 1
q)power((2 0.;0 4.);-2)
0.25 0
0    0.0625
q)power((2 0.;0 4.);0)
1 0
0 1
q)inverse(1 2.;2 4.)
'inverse: the matrix is singular
q)det 1 2.
'det: expects a matrix or a stack of them, given sizes [2]
q)det(1 2 3.;4 5 6.)
'det: expects square matrices, given sizes [2, 3]
q)eigh(1 0n;0n 1)
'eigh: an element is infinite or not a number
/ A stack of matrices at once.
q)det 2 2 2#1 2 3 4 5 6 7 9.
-2 3f
/ Gradients: of det by its elements the cofactors; of the rest by differences.
q)t:tensor((4 3.;6 2.);`grad)
q)y:det t
q)backward y
q)grad t
2  -6
-3 4 
q)t:tensor((4 3.;6 2.);`grad)
q)y:Sum mul(inverse t;(1 2.;3 4.))
q)backward y
q)i:inverse(4 3.;6 2.)
/ tolerance 1e-9
q)(grad t)+mm(flip i;mm((1 2.;3 4.);flip i))
0 0
0 0
q)t:tensor((4 3.;6 2.);`grad); b:tensor(1 2.;`grad)
q)y:Sum solve(t;b)
q)backward y
/ tolerance 1e-9
q)(grad b)-sum i
0 0
q)v:solve((4 3.;6 2.);1 2.)
/ tolerance 1e-9
q)(grad t)+(sum i)*\:v
0 0
0 0
q)t:tensor((4 1.;1 2.);`grad)
q)y:logdet t
q)backward y
/ tolerance 1e-9
q)(grad t)-flip inverse(4 1.;1 2.)
0 0
0 0
q)svd t
'svd: kiln has no gradient of it: detach the tensor first
q)gradfn det t
`determinant
q)gradfn t
`
/ The reflection that takes the one axis to the other.
q)householder(2 2#9 9 1 9.;1 0.)
0  -1
-1 0
/ fails
q)householder(1 2#1 2.;1 1.)
'householder: sizes [1, 2] and [2]
q)free()
