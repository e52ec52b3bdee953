/ A straight line fitted by gradient descent: a script of the kind that calls a library otherwise.
x:0.1*til 20
y:1.5+2*x
step:{[w;rate]
  e:(w[0]+w[1]*x)-y;
  g:(avg e;avg e*x);
  w-rate*g
  }
w:0 0f
i:0
while[i<2000;
  w:step[w;0.5];
  i+:1]
loss:avg e*e:(w[0]+w[1]*x)-y
if[loss>1e-9;'"loss ",string loss]
if[any 1e-4<abs w-1.5 2;'"weights ",-3!w]
log10:{(log x)%log 10}
names:`weight`bias!(w 1;w 0)
if[not `weight`bias~key names;'"names"]
