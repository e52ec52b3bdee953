/ Layers without parameters as functions.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)x:1 4 4#"f"$til 16
q)first maxpool2d(x;2)
5  7 
13 15
q)first avgpool2d(x;2)
2.5  4.5 
10.5 12.5
q)first adaptavg2d(x;1 2)
6.5 8.5
q)first maxpool2d(x;3;1;1)
5  6  7  7 
9  10 11 11
13 14 15 15
13 14 15 15
q)first avgpool2d(x;`size`stride`divisor!(2;2;2))
5  9 
21 25
q)size maxpool2d(tensor 2 1 4 4#"f"$til 32;1 2)
2 1 4 2
q)maxpool1d(enlist 1 5 2 4 3.;2)
5 4
q)avgpool1d(enlist 1 5 2 4 3.;2;1)
3 3.5 3 3.5
q)maxpool1d(enlist 1 5 2 4 3.;2;2;0;1;1b)
5 4 3
q)adaptavg1d(enlist 1 5 2 4.;2)
3 3
q)pad(1 2 3;1 2)
0 1 2 3 0 0
q)pad(1 2 3.;1 1;`constant;9.)
9 1 2 3 9f
q)pad(1 2 3 4;2 2;`reflect)
3 2 1 2 3 4 3 2
q)pad(1 2 3;2 2;`replicate)
1 1 1 2 3 3 3
q)pad(1 2 3;1 2;`circular)
3 1 2 3 1 2
q)pad((1 2;3 4);1 0 0 1)
0 1 2
0 3 4
0 0 0
q)pad(1 2 3 4;-1 -1)
2 3
q)pad(1 2 3;-2 -2)
'pad: padding of -2 and -2 for 3 elements
  [0]  pad(1 2 3;-2 -2)
       ^
q)pad(1 2 3;3 0;`reflect)
'pad: padding of 3 and 0 by `reflect needs more than 3 elements
  [0]  pad(1 2 3;3 0;`reflect)
       ^
/ tolerance 1e-6
q)glu 1 2 3 4.
0.9525741 1.964028
q)prelu(-2 3.;.25)
-0.5 3
q)prelu((-2 -3.;4 -5.);.5 .1)
-1 -0.3
4  -0.5
q)t:tensor(-2 3.;`grad)
q)w:tensor(.25;`grad)
q)backward Sum prelu(t;w)
q)grad each(t;w)
0.25 1
-2f
q)maxpool2d(1 2 3.;2)
'maxpool2d: expects 3 or 4 dimensions, given sizes [3]
  [0]  maxpool2d(1 2 3.;2)
       ^
q)glu 1 2 3.
'glu: expects an even size along dimension 0, given [3]
  [0]  glu 1 2 3.
       ^
q)free()
