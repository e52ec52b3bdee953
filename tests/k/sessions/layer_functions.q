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
/ Windows as columns, and back: elements that lie under several are added up.
q)x:enlist 3 3#1 2 3 4 5 6 7 8 9e
q)unfold(x;2)
1 2 4 5
2 3 5 6
4 5 7 8
5 6 8 9
q)first fold(unfold(x;2);3;2)
1 4  3
8 20 12
7 16 9
q)unfold(x;`size`stride!(2 1;1 2))
1 3 4 6
4 6 7 9
q)t:tensor(x;`grad)
q)backward Sum unfold(t;2;1;1)
q)first grad t
4 4 4
4 4 4
4 4 4
/ Norms and extremes of windows.
q)lppool1d(enlist 3 4 6 8e;2;2)
5 10
q)first lppool2d(x;1;3)
45
q)adaptmax1d(enlist 1 5 2 4 3e;2)
5 4
q)first adaptmax2d(x;2)
5 6
8 9
q)raze raze adaptavg3d(enlist 2 2 2#1 2 3 4 5 6 7 8e;1)
4.5
/ Other sizes.
q)first interpolate(enlist enlist 1 2e;4)
1 1 2 2
q)first interpolate(enlist enlist 1 2e;`size`mode!(4;`linear))
1 1.25 1.75 2
/ tolerance 1e-6
q)first interpolate(enlist enlist 1 2e;4;::;`linear;1b)
1 1.333333 1.666667 2
q)first first interpolate(enlist enlist 2 2#1 2 3 4e;::;1.5;`bilinear;1b)
1 1.5 2
2 2.5 3
3 3.5 4
q)bilinear(1 2e;3 4e;enlist 2 2#1 0 0 1e)
,11e
q)bilinear(1 2e;3 4e;enlist 2 2#1 0 0 1e;,1e)
,12e
/ By chance.
q)rrelu(-1 1.;.2;.4)
-0.3 1
q)rrelu(-1 1.;.5;.5;1b)
-0.5 1
q)x~randomcrop(x;3)
1b
q)size tensor randomcrop(x;2;1)
1 2 2
q)first randomflip(x;1)
3 2 1
6 5 4
9 8 7
q)x~randomflip(x;0)
1b
q)unfold(x;4)
'unfold: a window of (4, 4) is larger than the images of 3 by 3
  [0]  unfold(x;4)
       ^
/ fails
q)fold(4 3#1e;3;2)
'fold: columns of sizes [4, 3] are not those
/ fails
q)interpolate(enlist enlist 1 2e;::;.7)
'interpolate: 1.4 places from 2
q)free()
