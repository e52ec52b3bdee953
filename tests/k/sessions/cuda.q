/ Tensors on a GPU, where there is one.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
/ needs cuda
q)device[]
`cuda:0
q)first cudadevices()
`cuda
q)cudadevice()
`cuda:0
q)x:tensor(2 2#1 2 3 4e;`cuda;`grad)
q)device x
`cuda:0
q)tensor x
1 2
3 4
/ Arrays go to where the tensor is; what is pending becomes one kernel.
q)y:Sum mul(x;add(x;2 2#10 20 30 40e))
q)device y
`cuda:0
q)tensor y
330e
q)backward y
q)grad x
12 24
36 48
q)device g:grad enlist x
`cuda:0
q)tensor softmax(tensor(0 0e;`cuda);0)
0.5 0.5e
q)z:mm(x;2 2#1 0 0 2e)
q)tensor z
1 4
3 8
q)tensor(x;1 0)
3 4
1 2
q)w:copyto(x;`cpu)
q)device each(w;x)
`cpu`cuda:0
q)add(x;w)
'add: operands are on cuda:0 and cpu: bring them together with to()
q)sync x
/ Files are written from there, and read into what is there.
q)Save(`:/tmp/kiln_q_cuda.npy;x)
`:/tmp/kiln_q_cuda.npy
q)tensor Load`:/tmp/kiln_q_cuda.npy
1 2
3 4
q)x2:copyto(x;`cuda`double)
q)Load(`:/tmp/kiln_q_cuda.npy;x2)
q)device x2
`cuda:0
/ A module, its optimizer and a loss there train as on the processor.
q)seed 7
q)m:module seq(`sequential;(`linear;2;8);`tanh;(`linear;8;2))
q)to(m;`cuda)
q)o:opt(`sgd;m;.5)
q)l:loss`ce
q)device each(m;o)
`cuda:0`cuda:0
q)r:{[i]backward v:loss(l;forward(m;x);0 1);step o;zerograd o;return v}each til 20
q)(last r)<first r
1b
q)to(m;`cpu)
q)device m
`cpu
q)type evaluate(m;2 2#1 2 3 4e)
0h
/ So does a model, on arrays of q.
q)p:module enlist(`linear;2;2)
q)to(p;`cuda)
q)k:model(p;l;opt(`adam;p))
q)v:{[i]run(k;2 2#1 2 3 4e;0 1)}each til 3
q)(last v)<first v
1b
q)device k
`cuda:0
q)type evaluate(k;2 2#1 2 3 4e)
0h
/ Layers of other parameters and buffers move too, and learn there.
q)g:module enlist(`groupnorm;1;2)
q)to(g;`cuda)
q)device parm(g;`bias)
`cuda:0
/ tolerance 1e-5
q)evaluate(g;enlist 1 3e)
-1 1
q)backward Sum forward(g;enlist 1 3e)
q)grad parm(g;`bias)
1 1e
q)u:module`prelu
q)to(u;`cuda)
q)evaluate(u;-2 2e)
-0.5 2e
q)e:module(`sequential;enlist(`embedpos;4;2);enlist(`selfattention;2;1);enlist(`zscore;0.;1.))
q)to(e;`cuda)
q)size evaluate(e;til 3)
1 3 2
q)device each(parm(e;`0.pos);parm(e;`1.in.weight);buffer(e;`2.stddev))
`cuda:0`cuda:0`cuda:0
q)to(e;`cpu)
q)size evaluate(e;til 3)
1 3 2
/ What computes on the processor only says so, and nothing has moved.
q)n:module enlist(`lstm;2;2)
/ fails
q)to(n;`cuda)
'to: this layer
q)device n
`cpu
/ fails
q)to(module enlist(`convtranspose2d;1;1;2);`cuda)
'to: this layer
/ fails
q)tensor(1 2;`cuda:99)
'tensor
/ fails
q)tensor(1 2;`cuda:x)
'tensor: `cuda:x is no device
q)free[]
