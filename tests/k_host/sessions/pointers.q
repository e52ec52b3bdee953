/ The page on pointers, row by row. What is freed between the rows is not on the page, whose rows begin anew.
q)f:key{key[x]set'x}(`ktorch 2:`fns,1)[]
/ P1
q)t:tensor 1 2 3
q)type t
0h
q)type each t
,-7h
/ any
q)0N!t;
,68610912
/ P2
q)a:tensor 1 2 3
q)v:vector(4 5;6 7 8)
q)class each (a;v)
`tensor`vector
q)class each a,v
'class: need allocated torch object, e.g. tensor, module, given long scalar
  [0]  class each a,v
             ^
/ any
q)0N!(a;v);
(,48128768;,48129232)
/ any
q)0N!a,v;
(48128768;48129232)
/ any
q)0N!0+a,v;
48128768 48129232
q)type a,v
0h
q)type 0+a,v
7h
/ P3
q)free[]
/ needs cuda
q)t:tensor 1 2 3.0
q)v:vector(1 2;3 4 5e)
q)d:dict `a`b!(0101b; 3 4#til 12)
q)q:module ((0;`sequential); (1; (`linear;64;10)))
q)to(q;`cuda)
q)o:opt(`adam; q)
/ unordered
/ like
q)obj[]
ptr        class     device dtype  size elements bytes
------------------------------------------------------
*          optimizer cuda:0        2    0        0
*          module    cuda:0        2    650      2600
*          dict      cpu           2    16       100
*          tensor    cpu    double ,3   3        24
*          vector    cpu           2    5        28
q)free[]
/ needs
/ P3 on the processor
q)t:tensor 1 2 3.0
q)v:vector(1 2;3 4 5e)
q)d:dict `a`b!(0101b; 3 4#til 12)
q)q:module ((0;`sequential); (1; (`linear;64;10)))
q)o:opt(`adam; q)
/ unordered
/ like
q)obj[]
ptr        class     device dtype  size elements bytes
------------------------------------------------------
*          optimizer cpu           2    0        0
*          module    cpu           2    650      2600
*          dict      cpu           2    16       100
*          tensor    cpu    double ,3   3        24
*          vector    cpu           2    5        28
/ P4
q)free[]
q)a:tensor 1 2 3
q)v:vector(4 5;6 7 8)
/ unordered
/ like
q)obj[]
ptr      class  device dtype size elements bytes
------------------------------------------------
*        vector cpu          2    5        40
*        tensor cpu    long  ,3   3        24
q)free v
/ unordered
/ like
q)obj[]
ptr      class  device dtype size elements bytes
------------------------------------------------
*        tensor cpu    long  3    3        24
q)class v
'stale pointer
  [0]  class v
       ^
q)free[]
q)obj[]
ptr class device dtype size elements bytes
------------------------------------------
/ P5, which fills a GPU
/ needs cuda-out-of-memory
/ fails
q)\ts:100 r:{t:tensor(`randn; x;`cuda); r:mean tensor t; r} 100000000
out of memory
/ shown
q)select n:count i,sum[bytes]%2 xexp 30 from obj[]
q)free()
/ needs cuda-large
/ any
q)\ts:100 r:{t:tensor(`randn; x;`cuda); r:mean tensor t; free t; r} 100000000
32436 536872016
/ tolerance 1e-3
q)r
0e
/ needs
/ P5 with what a processor has
q)free[]
q)r:{t:tensor(`randn; x); r:mean tensor t; r} 1000000
q)r:{t:tensor(`randn; x); r:mean tensor t; r} 1000000
/ tolerance 1e-6
q)select n:count i,sum[bytes]%2 xexp 20 from obj[]
n bytes
----------
2 7.629395
q)free()
q)count obj[]
0
/ any
q)\ts:3 r:{t:tensor(`randn; x); r:mean tensor t; free t; r} 1000000
2 2
q)type r
-8h
q)0.01>abs r
1b
q)count obj[]
0
/ P6
q)a:tensor 1 2 3; b:tensor 4 5
q)free each(a;b)
::
::
q)a:tensor 1 2 3; b:tensor 4 5
q)free(a;b)
q)m:module`transformer
q)parmnames each c:children(m;`decoder.layers.0)
self_attn     | `in_proj_weight`in_proj_bias`out_proj.weight`out_proj.bias
multihead_attn| `in_proj_weight`in_proj_bias`out_proj.weight`out_proj.bias
linear1       | `weight`bias
dropout       | `symbol$()
linear2       | `weight`bias
norm1         | `weight`bias
norm2         | `weight`bias
norm3         | `weight`bias
dropout1      | `symbol$()
dropout2      | `symbol$()
dropout3      | `symbol$()
q)free c
/ P7
q)free[]
q)l:loss`mse
q)x:tensor(1.2 1.9 3.1; `grad)
q)y:tensor 1.0 2.0 3.0
q)z:loss(l;x;y)
q)backward z; r:tensor z; free z
/ tolerance 1e-6
q)r
0.02
q)z:loss(l;x;y)
/ tolerance 1e-6
q)backward z:loss(l;x;y); return z
0.02
q)mapped z
0b
/ P8
q)t:tensor 1 2 3
q)mapped t
1b
q)free t
q)mapped t
0b
q)mapped "string"
0b
/ P9
q)t:tensor 1 2 3
q)m:module enlist(`linear;128;10)
q)o:opt(`adam; m)
/ any
q)ptr each(t;m;o)
60715504 61043456 61053536
q)count distinct ptr each(t;m;o)
3
/ P10
q)t:tensor 1 2 3
q)m:module`relu
q)o:opt`sgd
q)l:loss`mse
q)class each(t;m;o;l)
`tensor`module`optimizer`loss
/ P11
/ needs cuda
q)t:tensor 1 2 3
q)q:module (`sequential; enlist(`linear;128;10); `relu)
q)to(q;`cuda)
q)device each (t;q)
`cpu`cuda:0
/ needs
/ P12
q)t:tensor 1 2 3.0
q)dtype t
`double
q)q:module (`sequential; enlist(`linear;128;10); `relu)
q)dtype q
'dtype: not implemented for modules
  [0]  dtype q
       ^
/ P13
q)t:tensor(`randn; 64 128)
q)q:module (`sequential; enlist(`linear;128;10); `relu)
q)l:loss`ce
q)o:opt(`adam; q)
q)m:model addref each(q;l;o)
q)`tensor`module`loss`optimizer`model!size each(t;q;l;o;m)
tensor   | 64 128
module   | 2
loss     | 0
optimizer| 2
model    | 2
/ P14
q)t:tensor(`randn; 64 128)
q)q:module (`sequential; enlist(`linear;128;10); `relu)
q)l:loss`ce
q)o:opt(`adamw; q; `amsgrad,1b)
q)`tensor`module`optimizer!elements each (t;q;o)
tensor   | 8192
module   | 1290
optimizer| 0
q)backward z:loss(l; x:forward(q;t); y:tensor(`randint;0;10;64))
q)step o
q)`tensor`module`optimizer!elements each (t;q;o)
tensor   | 8192
module   | 1290
optimizer| 3872
/ P15 and P16
q)t:tensor(`randn; 64 128)
q)q:module (`sequential; enlist(`linear;128;10); `relu)
q)l:loss`ce
q)o:opt(`adamw; q; `amsgrad,1b)
q)backward z:loss(l; x:forward(q;t); y:tensor(`randint;0;10;64))
q)step o
q)`tensor`module`optimizer!(tensorcount;elements;bytes)@\:/:(t;q;o)
tensor   | 1 8192 32768
module   | 2 1290 5160
optimizer| 6 3872 15496
/ P17
q)m:module enlist(`linear;512;10)
q)o:opt(`adam; m)
q)ref m
2
q)free o
q)ref m
1
/ P18
q)a:tensor 0101b
q)b:tensor til 9
q)v:vector(a; addref b)
q)ref a
'stale pointer
  [0]  ref a
       ^
q)ref b
2
q)free v
q)ref b
1
/ P19
q)free()
q)a:tensor 1 2 3
q)b:tensor 010101b
q)use[a]b
q)tensor a
010101b
q)tensor b
'stale pointer
  [0]  tensor b
       ^
q)seed 123
q)use[a]tensor(`rand;2 3)
/ tolerance 1e-6
q)tensor a
0.2961119 0.5165623  0.2516707
0.6885568 0.07397246 0.866522
q)type each tensor a
8 8h
/ unordered
/ like
q)obj[]
ptr      class  device dtype size elements bytes
------------------------------------------------
*        tensor cpu    float 2 3  6        24
/ P20
/ needs cuda
q)t:tensor(`randn;2 3;`cuda)
/ any
q)-2 str t;
-0.8294  1.0210  0.4638
-0.6257 -0.8949 -0.0671
[ CUDAFloatType{2,3} ]
/ needs
q)t:tensor(`randn;2 3)
/ any
q)-2 str t;
-0.8294  1.0210  0.4638
-0.6257 -0.8949 -0.0671
[ CPUFloatType{2,3} ]
q)type str t
10h
q)show q:((0;`sequential); (1; (`linear;64;10)); (1;`relu))
0 `sequential
1 (`linear;64;10)
1 `relu
q)q:module q
q)-2 str q;
torch::nn::Sequential(
  (0): torch::nn::Linear(in_features=64, out_features=10, bias=true)
  (1): torch::nn::ReLU()
)
q)free[]
q)count obj[]
0
