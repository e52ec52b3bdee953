/ The generator's numbers are those of other sessions with this seed; draws by probability have their moments.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)seed 123
q)t:tensor(`rand;2 3)
/ tolerance 1e-6
q)tensor t
0.2961119 0.5165623  0.2516707
0.6885568 0.07397246 0.866522
q)x:tensor(`zeros;10000)
q)normal(x;3;2)
/ tolerance 0.1
q)meanstd tensor x
3 2e
q)uniform(x;2;4)
/ tolerance 0.1
q)mean tensor x
3e
q)all(tensor x)within 2 4
1b
q)p:multinomial(0 1 3.;8000;1b)
q)min p
1
/ tolerance 0.05
q)avg p=2
0.75
q)asc multinomial(1 1 1.;3)
0 1 2
q)multinomial(1 1 1.;4)
'multinomial: cannot draw 4 of 3 without replacement
  [0]  multinomial(1 1 1.;4)
       ^
/ tolerance 0.05
q)avg bernoulli 10000#.3
0.3
/ tolerance 1e-6
q)gain each`relu`tanh`linear
1.414214 1.666667 1
q)w:tensor(`zeros;100 400)
q)xnormal w
/ tolerance 0.003
q)last meanstd raze tensor w
0.06324555e
q)kuniform(w;0;`relu)
/ tolerance 0.003
q)max raze tensor w
0.1224745e
q)m:module enlist(`linear;3;2)
q)uniform(m;`weight;1;1)
q)tensor parm(m;`weight)
1 1 1
1 1 1
q)class normal 2 3.
'class: need allocated torch object, e.g. tensor, module, given double list
q)bernoulli 2.
'bernoulli: a probability of 2 is not in 0 to 1
  [0]  bernoulli 2.
       ^
q)normal(x;0;-1)
'normal: a deviation of -1 is negative
  [0]  normal(x;0;-1)
       ^
/ Integers, and first values with a structure.
q)t:tensor(`zeros;100;`long)
q)random(t;3;5)
q)tensor each(amin t;amax t)
3 4
q)t:tensor(`zeros;3 2;`double)
q)orthogonal t
/ tolerance 1e-12
q)tensor mtm(t;t)
1 0
0 1
q)t:tensor(`zeros;2 5)
q)orthogonal(t;2)
/ tolerance 1e-6
q)tensor mmt(t;t)
4 0
0 4
q)t:tensor(`ones;4 3)
q)snormal(t;.5)
q)Sum(eq(tensor t;0e);0)
2 2 2
q)t:tensor(`ones;2 1 3)
q)dirac t
q)tensor t
0 1 0e
0 0 0e
/ fails
q)orthogonal tensor 1 2.
'orthogonal: expects 2 dimensions or more
q)free()
