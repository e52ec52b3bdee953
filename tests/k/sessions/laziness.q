/ Results have the values of the time of the call, though they are computed later.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)x:tensor 1 2 3.
q)y:mul(x;10)
q)fill(x;0)
q)tensor y
10 20 30f
q)y:add(x;1)
q)mul(x;5;())
q)z:add(x;2)
q)normal x
q)tensor z
2 2 2f
q)w:tensor(1 2.;`grad)
q)y:mul(w;w)
q)s:Sum y
q)backward s
q)o:opt(`sgd;w;1.)
q)y:Exp(mul(w;0))
q)h:mul(w;3)
q)step o
q)tensor each(w;h)
-1 -2
3  6
q)x:tensor 6 3
q)y:Div(x;tensor 2 0)
q)free()
