/ What is made within a scope is freed at its end, but what it returns.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)a:tensor 1 2 3.
q)scope{t:mul(a;a); tensor mean t}
4.666667
q)count obj[]
1
q)b:scope({mul(mul(a;x);2)};10.)
q)tensor b
20 40 60f
q)count obj[]
2
q)l:scope{(mul(a;1.);2;`x!mul(a;2.))}
'type
q)count obj[]
2
q)l:scope{t:Exp a; (mul(a;1.);(`x`y)!(mul(a;2.);3))}
q)count obj[]
4
q)scope 5
'scope: expects a function or (function;arguments...), given long scalar
  [0]  scope 5
       ^
q)g:tensor(a;`grad)
q)gradient a
`nograd
q)free()
