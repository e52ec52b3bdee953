/ Devices, settings, help.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)device[]
`cpu
q)cudadevices[]
0
q)cudadevices()
`symbol$()
/ fails
q)tensor(1 2;`cuda)
'tensor: no CUDA device
q)dtype[]
`float
q)dtype`double
q)dtype tensor(`zeros;2)
`double
q)dtype`float
q)dtype`foo
'dtype: the default is one of float double half, given `foo
q)setting`lazy
1b
q)setting(`lazy;0b)
q)setting`lazy
0b
q)mul(2 3.;4)
8 12f
q)setting(`lazy;1b)
q)setting(`strict;1b)
q)mul 2 3
'mul: a long list of 2 items would be read as 2 arguments, which strict mode refuses: give a general list, or enlist one value
q)mul(2 3;4)
8 12
q)setting(`strict;0b)
q)mul 2 3
6
q)setting`foo
'setting: no setting `foo; setting() lists all
q)16<=count setting()
1b
q)seed 7
q)seed()
cpu| 7
q)help`mul
"mul (x;y[;out]): product"
q)-2 help`fft;
fft (x[;n][;dim][;norm]): Fourier transform (not offered by kiln in this version)
q)count help[]
443
q)f~exec name from help[]
1b
q)fft 1 2
'fft: not offered by kiln in this version; help[] lists what is
q)tree((0;`sequential);(1;(`linear;64;10));(1;`relu))
`sequential
,(`linear;64;10)
,`relu
q)dv tree((0;`sequential);(1;(`linear;64;10));(1;`relu))
0 `sequential
1 (`linear;64;10)
1 `relu
q)free()
