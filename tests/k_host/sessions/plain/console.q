/ Values of every type, as a console shows them. None of this needs a library.
q)1b
1b
q)0101b
0101b
q)enlist 1b
,1b
q)0x01
0x01
q)0x01ff
0x01ff
q)1 2h
1 2h
q)3i
3i
q)1 2 3
1 2 3
q)enlist 3
,3
q)1e
1e
q)1.5 2e
1.5 2e
q)1f
1f
q)1 2f
1 2f
q)1.5 2
1.5 2
q)2%3
0.6666667
q)1e10
1e+10
q)123456789f
1.234568e+08
q)0.00001
1e-05
q)0n
0n
q)0N
0N
q)0Nh
0Nh
q)0w -0w 1
0w -0w 1
q)0N 1
0N 1
q)"a"
"a"
q)"abc"
"abc"
q)""
""
q)enlist "a"
,"a"
q)"a\"b\\\n"
"a\"b\\\n"
q)`a
`a
q)`a`b`c
`a`b`c
q)enlist`a
,`a
q)`
`
q)`cuda:0
`cuda:0
q)()
()
q)0#0
`long$()
q)0#0f
`float$()
q)0#`
`symbol$()
q)`symbol$()
`symbol$()
q)2020.02.29
2020.02.29
q)2020.02.29+1
2020.03.01
q)10:30
10:30
q)10:30:05.250
10:30:05.250
q)(1;2 3;`a;"text";enlist 4)
1
2 3
`a
"text"
,4
q)(::;1)
::
1
q)(1 2;30 4)
1  2
30 4
q)(1 2f;3 4f)
1 2
3 4
q)(1 2f;3 4 5f)
1 2f
3 4 5f
q)(0101b;1010b)
0101b
1010b
q)("ab";"cd")
"ab"
"cd"
q)(`a`b;`cc`d)
a  b
cc d
q)2 3 4#til 5
0 1 2 3 4 0 1 2 3 4 0 1
2 3 4 0 1 2 3 4 0 1 2 3
q)((0;`sequential);(1;(`linear;64;10));(1;`relu))
0 `sequential
1 (`linear;64;10)
1 `relu
q)`a`b!1 2
a| 1
b| 2
q)`a`long!(1 2 3;"text")
a   | 1 2 3
long| "text"
q)(enlist`a)!enlist 1
a| 1
q)1 2!`a`b
1| a
2| b
q)`a`b!(`x`y;`symbol$())
a| `x`y
b| `symbol$()
q)([]a:1 2;b:`x`yy;c:(1 2;3))
a b  c
--------
1 x  1 2
2 yy 3
q)([]a:();b:())
a b
---
q)([k:`a`b]v:1 2.5)
k| v
-| ---
a| 1
b| 2.5
q)til 100
0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 ..
q){x+y}
{x+y}
q){x+y}[1]
{x+y}[1]
q)(+)
+
q)0N!(1 2;`a;`a`b!1 2);
(1 2;`a;`a`b!1 2)
q)0N!enlist 12 13
,12 13
12 13
q)-1 "first";-2 "second";
first
second
q)show 1 2 3
1 2 3
q)-3!(1;"a")
"(1;\"a\")"
q)1;2
2
q)x:1
q)
q)x / with a comment
1
q)`a`b!1 2 3
'length
  [0]  `a`b!1 2 3
           ^
q)1+`a
'type
  [0]  1+`a
        ^
q)f:{y+`a}
q)2*f[1;2]
'type
  [1]  f:{y+`a}
           ^
q)nosuch 1
'nosuch
  [0]  nosuch 1
       ^
q)(1 2 3
')
q)'"own text"
'own text
  [0]  '"own text"
       ^
