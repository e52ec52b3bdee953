/ The overview page, row by row; O3, O6 and O7 need a GPU.
/ O1
q)f:key{key[x]set'x}(`ktorch 2:`fns,1)[]
q)f
`dv`tree`addref`free`return`use`obj`tensorcount`to`copyto`info`detail`state`s..
q)type f
11h
q)type each get each f 1 2 3 4
112 112 112 112h
/ O2
q)x:tensor 1 2 3.0
q)type x
0h
q)count x
1
q)type first x
-7h
/ needs cuda
/ O3
q)y:tensor(1 2 3.0; `cuda`float)
q)dtype y
`float
q)device y
`cuda:0
/ needs
/ O4
q)x:tensor(1 2 3.0; `grad)
q)y:mul(x;x)
q)z:mean(y)
q)backward z
/ tolerance 1e-6
q)grad x
0.6666667 1.333333 2
/ O5
q)free(x;y;z)
q)mapped each (x;y;z)
000b
/ needs cuda
/ O6
q)x:tensor(1 2 3e; `cuda)
q)device x
`cuda:0
/ O7
q)y:tensor 4 5
q)to(y;`cuda)
q)device y
`cuda:0
/ needs
q)free[]
q)count obj[]
0
