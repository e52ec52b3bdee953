/ Files of tensors, dicts of them, modules, optimizers, models.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)a:tensor(1 2 3;4 5 6)
q)Save(`:/tmp/kiln_session_a.npy;a)
`:/tmp/kiln_session_a.npy
q)b:Load`:/tmp/kiln_session_a.npy
q)tensor b
1 2 3
4 5 6
q)dtype b
`long
q)zeros b
q)Load(`:/tmp/kiln_session_a.npy;b)
q)tensor b
1 2 3
4 5 6
q)d:dict`x`y!(1 2 3.;0101b)
q)Save("/tmp/kiln_session_d.safetensors";d);
q)e:Load"/tmp/kiln_session_d.safetensors"
q)dict e
x| 1 2 3f
y| 0101b
q)Save(`:/tmp/kiln_session_d.safetensors;`u`v!(1 2;3 4e));
q)dict Load`:/tmp/kiln_session_d.safetensors
u| 1 2
v| 3 4
q)Load(`:/tmp/kiln_session_d.safetensors;d)
'Load: the file does not fit; `x is missing; `y is missing
q)dict d
x| 1 2 3f
y| 0101b
/ A run that is interrupted goes on as one that was not.
q)seed 5
q)m:module seq(`sequential;(`linear;2;3);`tanh;(`linear;3;1))
q)M:model(addref m;loss`mse;opt(`adam;m;.05))
q)x:6 2#1 2 3 4 5 6 -1 -2 -3 -4 -5 -6e
q)y:6 1#1 0 1 0 1 0e
q)train(M;x;y);
q)run each 5#enlist M;
q)Save(`:/tmp/kiln_session_M.safetensors;M);
q)r:run each 5#enlist M
q)m2:module seq(`sequential;(`linear;2;3);`tanh;(`linear;3;1))
q)M2:model(addref m2;loss`mse;opt(`adam;m2;.5))
q)Load(`:/tmp/kiln_session_M.safetensors;M2)
q)train(M2;x;y);
q)r~run each 5#enlist M2
1b
q)lr M2
,0.05
/ Weights alone; of another shape they are refused, and nothing has changed.
q)Save(`:/tmp/kiln_session_m.safetensors;m2);
q)m3:module seq(`sequential;(`linear;2;3);`tanh;(`linear;3;1))
q)Load(`:/tmp/kiln_session_m.safetensors;m3)
q)(evaluate(m3;x))~evaluate(m2;x)
1b
q)m4:module seq(`sequential;(`linear;2;4);`tanh;(`linear;4;1))
q)Load(`:/tmp/kiln_session_m.safetensors;m4)
'Load: the file does not fit; `0.weight is float32[3, 2] in the file, here float32[4, 2]; `0.bias is float32[3] in the file, here float32[4]; `2.weight is float32[1, 3] in the file, here float32[1, 4]
q)o:opt(`adam;m4;.05)
q)Save(`:/tmp/kiln_session_o.safetensors;o);
q)Load(`:/tmp/kiln_session_o.safetensors;o)
/ fails
q)Load(`:/tmp/kiln_session_m.safetensors;o)
the state is of another optimizer
q)Save(`:/tmp/x.txt;a)
'Save: the file :/tmp/x.txt ends neither in .npy nor in .safetensors: name it so that it does
/ fails
q)Load`:/tmp/kiln_no_such.npy
kiln_no_such.npy
/ fails
q)Save(`:/tmp/kiln_no_such_folder/a.npy;a)
kiln_no_such_folder
q)Save(`:/tmp/kiln_session_a.npy;m)
'Save: argument 2 is a module, expected a tensor or an array
q)png(`:/tmp/kiln_session_picture.png;3 2 2#0 255 128 1 2 3 4 5 6 7 8 9)
`:/tmp/kiln_session_picture.png
q)png(`:/tmp/kiln_session_picture.png;2 2#0 256 0 1)
'png: elements from 0 to 256: a picture's are from 0 to 255
  [0]  png(`:/tmp/kiln_session_picture.png;2 2#0 256 0 1)
       ^
q)png(`:/tmp/kiln_session_picture.png;1 2 3)
'png: expects an image of 1 to 4 channels, rows and columns, given sizes [3]
  [0]  png(`:/tmp/kiln_session_picture.png;1 2 3)
       ^
q)free()
