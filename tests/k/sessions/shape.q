/ Sizes, orders and parts, of arrays and of handles.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)reshape(til 6;2 3)
0 1 2
3 4 5
q)resize(til 6;2 -1)
0 1 2
3 4 5
q)transpose(1 2;3 4)
1 3
2 4
q)transpose enlist(1 2;3 4)
'transpose: a tensor of 3 dimensions needs two of them named
q)permute(2 3#til 6;1 0)
0 3
1 4
2 5
q)squeeze enlist enlist 1 2
1 2
q)unsqueeze(1 2;0)
1 2
q)size unsqueeze(1 2;-1)
2 1
q)narrow(til 10;0;2;3)
2 3 4
q)index(2 3#til 6;1;0 2)
0 2
3 5
q)index(2 3#til 6;1;1)
1 4
q)Flip(1 2 3;0)
3 2 1
q)cat(1 2;3 4)
1 2 3 4
q)cat((1 2;3 4);-1)
1 2 3 4
q)stack((1 2;3 4);1)
1 3
2 4
q)onehot(0 2;3)
1 0 0
0 0 1
q)expand(enlist 1 2;2 2)
1 2
1 2
q)a:tensor 1 2 3
q)b:cat(a;4 5)
q)class b
`tensor
q)tensor b
1 2 3 4 5
q)amend(a;0;1;9)
q)tensor a
1 9 3
q)amend(a;0;0 2;7 8)
q)tensor a
7 9 8
q)amend(a;0;5;1)
'amend: index 5 is not in 0 to 2
  [0]  amend(a;0;5;1)
       ^
q)resize(a;3 1)
q)size a
3 1
/ fails
q)reshape(til 6;4 2)
reshape: 
q)a:tensor til 6
q)b:reshape(a;2 3)
q)sptr[a]~sptr b
1b
q)ptr[a]~ptr b
0b
q)t:tensor 3 3#0.
q)filldiagonal(t;2)
q)tensor t
2 0 0
0 2 0
0 0 2
q)free()
