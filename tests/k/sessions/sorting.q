/ Order, and what is found by it.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)sort 3 1 2
1 2 3
1 2 0
q)sort(3 1 2;0;1b)
3 2 1
0 2 1
q)argsort 3 1 2
1 2 0
q)msort(3 1;1 2)
1 1
3 2
q)topk(3 1 4 1 5;2)
5 4
4 2
q)topk(3 1 4 1 5;2;0;0b)
1 1
1 3
q)median 3 1 2 4
2
q)median(2 3#5 1 3 9 7 8;1)
3 8
2 2
q)unique 3 1 3 2 1
1 2 3
q)uniquec 1 1 2 2 1
1 2 1
q)cumsum(1 2 3 4.;0)
1 3 6 10f
q)cumsum(2 2#1 2 3 4;1)
1 3
3 7
q)cumsum(3.;0)
3f
q)median(3.;0)
3f
0
q)topk(1 2;3)
'topk: cannot take 3 of 2
  [0]  topk(1 2;3)
       ^
q)t:tensor(3 1 2.;`grad)
q)v:topk(t;1)
q)class v
`vector
q)s:Sum first h:tensor v
q)backward s
q)grad t
1 0 0f
q)free()
