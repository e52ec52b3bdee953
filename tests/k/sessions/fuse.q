/ Formulas as text: read once, one pass over memory, differentiable.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)fuse("(x*y)+Exp z";2.;3.;0.)
7f
q)g:fuse"(x*y)+Exp z"
q)type g
-11h
q)x:tensor(1 2 3.;`grad)
q)y:tensor 10 20 30.
q)z:fuse(g;x;y;0.)
q)class z
`tensor
q)tensor z
11 41 91f
q)backward Sum z
q)grad x
10 20 30f
/ From right to left, as in q: 2*(3+4), and Exp takes all on its right.
q)fuse enlist"2*3+4"
14
q)fuse("Exp x-1";1 1.)
1 1f
q)fuse("Exp[x]-1";0 0.)
0 0f
q)fuse("x-1";5 6)
4 5
q)fuse("x % -2";5 6.)
-2.5 -3
/ Functions of two arguments, and options, stand in brackets.
q)fuse("maximum[x;2.5]*relu y";1 3.;-1 1.)
0 3f
q)fuse("leakyrelu[x;.5]";-2 2.)
-1 2f
/ Operands by name: a dictionary, a table, a dict of tensors.
q)fuse("price*size";([]price:1.5 2.5;size:10 20))
15 50f
q)fuse("w*x+b";`b`w`x!(1.;2.;3 4.))
8 10f
q)d:dict`a`b!(1 2.;3 4.)
q)tensor r:fuse("a*b";d)
3 8f
/ Into a tensor that is there.
q)fuse("x*x";y;y)
q)tensor y
100 400 900f
/ Errors say where.
q)fuse"x+"
'fuse: position 2 of "x+": a name, number or parenthesis is missing
  [0]  fuse"x+"
       ^
q)fuse"(x+y"
'fuse: position 0 of "(x+y": this parenthesis is not closed
  [0]  fuse"(x+y"
       ^
q)fuse"softmax x"
'fuse: position 0 of "softmax x": softmax is no pointwise function, and no operator follows it
  [0]  fuse"softmax x"
       ^
q)fuse"x y"
'fuse: position 0 of "x y": x is no pointwise function, and no operator follows it
  [0]  fuse"x y"
       ^
q)fuse"maximum x"
'fuse: position 0 of "maximum x": maximum takes two arguments: write maximum[x;y]
  [0]  fuse"maximum x"
       ^
q)fuse"-x"
'fuse: position 0 of "-x": `-` has nothing on its left: use Neg
  [0]  fuse"-x"
       ^
q)fuse("x+y";1.)
'fuse: "x+y" takes 2 operands: x, y; given 1
  [0]  fuse("x+y";1.)
       ^
q)fuse("x+y";`x`z!1 2)
'fuse: no operand `y is given
  [0]  fuse("x+y";`x`z!1 2)
       ^
q)fuse("x+y";1 2.;1 2 3.)
'fuse: add: shapes [2] and [3] do not broadcast: aligned at the right, two sizes must be equal or one of them 1 (use unsqueeze or reshape to line the axes up)
  [0]  fuse("x+y";1 2.;1 2 3.)
       ^
q)free()
