/ Norms, distances, and what is scaled by them.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)fnorm 2 2#1 2 3 4e
5.477226e
q)fnorm(2 2#1 2 3 4e;`double)
5.477226
q)fnorm 3 2 2#1 2 3 4e
5.477226 5.477226 5.477226e
q)x:2 3#0 1 2 3 4 5e
q)mnorm x
7.416198e
q)mnorm(x;1.0)
7e
q)mnorm(x;1.0;-1 -2)
12e
q)mnorm(x;-1.0;-1 -2)
3e
q)mnorm(x;0w)
12e
/ tolerance 1e-6
q)mnorm(2 2#1 2 3 4.;`nuc)
5.830952
q)mnorm(2 2#1 2 3 4.;2.)
5.464986
q)mnorm(2 2#1 2 3 4.;-2.)
0.3659662
q)size mnorm(tensor 3 2 2#1 2 3 4.;`nuc)
,3
q)size mnorm(tensor 3 2 2#1 2 3 4.;2.;0 2;1b)
1 2 1
q)vnorm -4 -3 -2 -1 0 1 2 3 4e
7.745967e
q)vnorm(3 3#-4 -3 -2 -1 0 1 2 3 4e;-1;1b)
5.385165
1.414214
5.385165
q)vnorm(3 -4 0.;0.)
2f
q)vnorm(3 -4 0.;1.)
7f
q)vnorm(3 -4 0.;0w)
4f
q)vnorm(3 -4 0.;-0w)
0f
q)vnorm(3 -4 0.;3.)
4.497941
q)vnorm 3 4
5f
q)dist(1 2 3e;0 3 9e)
6.164414e
q)dist(1 2 3e;0 3 9e;3)
6.018462e
q)renorm(3#'1 2 3 4.;2;1;5.)
0.9128709 0.9128709 0.9128709
1.825742  1.825742  1.825742 
2.738613  2.738613  2.738613 
3.651484  3.651484  3.651484 
q)normalize 2 2#3 4 0 0.
0.6 0.8
0   0  
q)normalize(2 2#3 4 6 8.;`p`dim!(1;0))
0.3333333 0.3333333
0.6666667 0.6666667
q)pairwise(2 2#0 0 1 1.;2 2#3 4 1 1.;2;0.)
5 0f
q)similar(2 2#1 0 1 1.;2 2#2 0 1 0.)
1 0.7071068
q)pdist 3 2#0 0 3 4 6 8.
5 10 5f
q)t:tensor(3 4.;`grad)
q)backward vnorm t
q)grad t
0.6 0.8
q)vnorm(3 4.;`nuc)
'vnorm: `nuc is a norm of matrices: use mnorm
  [0]  vnorm(3 4.;`nuc)
       ^
q)mnorm(2 2#1 2 3 4.;3.)
'mnorm: a norm of matrices of order 3: there are `fro, `nuc, 1, 2, infinity, and these negative
  [0]  mnorm(2 2#1 2 3 4.;3.)
       ^
q)renorm(1 2 3.;2;0;5.)
'renorm: expects 2 dimensions or more, given sizes [3]
  [0]  renorm(1 2 3.;2;0;5.)
       ^
q)free()
