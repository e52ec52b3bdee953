/ Windows and frequencies.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)tensor bartlett(11;0b;`double)
0 0.2 0.4 0.6 0.8 1 0.8 0.6 0.4 0.2 0
q)tensor bartlett 1
,1e
q)size bartlett 0
,0
q)tensor bartlett 5
0 0.4 0.8 0.8 0.4e
q)tensor hann(4;`double)
0 0.5 1 0.5
q)tensor hamming(4;1b;`double)
0.08 0.54 1 0.54
q)tensor hamming(4;1b;.5;.5;`double)
0 0.5 1 0.5
/ tolerance 1e-6
q)tensor blackman(5;0b;`double)
-1.387779e-17 0.34 1 0.34 -1.387779e-17
/ tolerance 1e-6
q)tensor kaiser(5;0b;`double)
5.277344e-05 0.2156727 1 0.2156727 5.277344e-05
q)tensor fftfreq 5
0 0.2 0.4 -0.4 -0.2e
q)tensor fftfreq(5;2;`double)
0 0.1 0.2 -0.2 -0.1
q)tensor rfftfreq 5
0 0.2 0.4e
q)fftshift tensor fftfreq 4
-0.5 -0.25 0 0.25e
q)ifftshift fftshift tensor fftfreq 5
0 0.2 0.4 -0.4 -0.2e
q)fftshift 3 2#til 6
5 4
1 0
3 2
q)hann(-1)
'hann: a length of -1
  [0]  hann(-1)
       ^
q)free()
