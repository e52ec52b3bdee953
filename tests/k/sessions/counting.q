/ Counts, running sums and products, places in an order.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)bincount 4 3 6 3 4
0 0 0 2 2 0 1
q)bincount(4 3 6 3 4;10)
0 0 0 2 2 0 1 0 0 0
q)w:0 .25 .5 .75 1
q)bincount(4 3 6 3 4;w)
0 0 0 1 1 0 0.5
q)bincount(4 3 6 3 4;w;8)
0 0 0 1 1 0 0.5 0
q)bincount -1 2
'bincount: element 0 is -1: what is counted is between 0 and 2^32
  [0]  bincount -1 2
       ^
q)histc(1 2 1 4.;4;0;3)
0 2 1 0f
q)histc(1 2 1 4.;3)
2 1 1f
q)histc(-1.7e308 0 1.7e308;2)
1 2f
q)In(1 2 3 4;2 4 9)
0101b
q)In(1 2 3 4;2 4 9;0b;1b)
1010b
q)In(0n 1;0n 1)
01b
q)cumsum(1 2 3;4 5 6)
1 3 6 
4 9 15
q)cumsum((1 2 3;4 5 6);0)
1 2 3
5 7 9
q)cumprod 1 2 3
1 2 6
q)cumprod(1 2 3;4 5 6)
1 2  6  
4 20 120
q)cumprod((1 2 3;4 5 6);0)
1 2  3 
4 10 18
q)cumprod(1 2 3;`double)
1 2 6f
q)t:tensor(2 3 4.;`grad)
q)backward Sum cumprod t
q)grad t
16 10 6f
q)t:tensor(2 0 4 0 5.;`grad)
q)backward Sum cumprod t
q)grad t
1 10 0 0 0f
q)t:tensor(1 2 3.;`grad)
q)backward Sum mul(cumsum t;3 5 7.)
q)grad t
15 12 7f
q)kthvalue(1 2 3 4 5;2)
2
1
q)kthvalue(5 3#1.1+til 15;3;1)
3.1 6.1 9.1 12.1 15.1
2   2   2   2    2   
q)kthvalue(5 3#1.1+til 15;3;0)
7.1 8.1 9.1
2   2   2  
q)kthvalue(1 2 3;4)
'kthvalue: no element 4 of 3
  [0]  kthvalue(1 2 3;4)
       ^
q)mode(0 0 1 1 1 0 2;0 2 2 2 0 0 0)
0 0
5 6
q)mode(2 3#1 2 3 1 9 3;0)
1 2 3
1 0 1
q)median 1 0n 3.
0n
q)nanmedian 1 0n 3.
1f
q)nanmedian(2 3#5 0n 3 9 7 8.;1)
3 8
2 2
q)aminmax(0.1 1.1 2.1;3.2 4.2 5.2)
0.1
5.2
q)aminmax((0.1 1.1 2.1;3.2 4.2 5.2);0)
0.1 1.1 2.1
3.2 4.2 5.2
q)roll(1 2 3 4;2)
3 4 1 2
q)roll(1 2 3 4;-1)
2 3 4 1
q)roll(4 2#1+til 8;1)
8 1
2 3
4 5
6 7
q)roll(4 2#1+til 8;2 1;0 1)
6 5
8 7
2 1
4 3
/ tolerance 1e-6
q)mvlgamma(1.5 3;2)
0.4515827 1.550195
q)angle -1 0 2.
3.141593 0 0
q)objtype tensor 1 2 3
'objtype: not implemented for tensor
q)free()
