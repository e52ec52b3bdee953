/ Evaluation: from right to left, functions, iterators, indices, queries.
q)2*3+4
14
q)1 2 3+10
11 12 13
q)1b+1b
2i
q)type 1h+1h
-6h
q)type 1+1e
-8h
q)type 1%2
-9h
q)0N+1
0N
q)7 div 2
3
q)-7 mod 3
2
q)2 xexp 30
1.073742e+09
q)1 2 3>2
001b
q)`a`b=`a
10b
q)1 2~1 2
1b
q)1 2~1 2f
0b
q)neg -1 2
1 -2
q)3 -1
3 -1
q)(3) -1
'type
q)x:3
q)x-1
2
q)10 20 30 40[1 2]
20 30
q)m:(1 2 3;4 5 6)
q)m[1;2]
6
q)m[;1]
2 5
q)m 0
1 2 3
q)m . 1 0
4
q)1 2 3@10
0N
q)d:`a`b!10 20
q)d`b
20
q)d[`a`b]
10 20
q)d`c
0N
q)d[`c]:30
q)d
a| 10
b| 20
c| 30
q)key d
`a`b`c
q)value d
10 20 30
q)v:1 2 3
q)v[1]:20
q)v[0 2]+:100
q)v
101 20 103
q)v,:4
q)v+:1
q)v
102 21 104 5
q)w:()
q)w,:1
q)w,:2
q)w
1 2
q)f:{x+y*z}
q)f[1;2;3]
7
q)f[1;;3]each 1 2
4 7
q)g:{[a;b]a-b}
q)g[5;3]
2
q)g[;3]5
2
q){$[x>2;:`big;x<0;`negative;`small]}each 5 1 -1
`big`small`negative
q){r:1;do[x;r*:2];r}10
1024
q){i:0;while[i<x;i+:1];i}7
7
q){if[x>1;:"yes"];"no"}each 1 2
"no"
"yes"
q)count each(1 2 3;4 5;6)
3 2 1
q)(1 2;3 4),'5 6
1 2 5
3 4 6
q)1 2+/:10 20
11 12
21 22
q)1 2+\:10 20
11 21
12 22
q)(neg;abs)@\:/:-1 2
1  1
-2 2
q)+/[1 2 3]
6
q)(+\)1 2 3
1 3 6
q)10 {x*2}/1
1024
q){x%2}\[{x>1};8f]
8 4 2 1f
q)0 {x+y}/1 2 3
6
q)sum each`a`b!(1 2;3 4)
a| 3
b| 7
q)`p`q set'1 2
`p`q
q)p+q
3
q)key{key[x]set'x}`p`q!10 20
`p`q
q)p,q
10 20
q)a:b:5
q)a+b
10
q)sum(1 2;3 4)
4 6
q)avg 1 2 3 4
2.5
q)max 3 1 2
3
q)min 3 1 2f
1f
q)asc 3 1 2
1 2 3
q)iasc 3 1 2
1 2 0
q)desc`b`a`c
`c`b`a
q)reverse 1 2 3
3 2 1
q)first 1 2
1
q)last 1 2
2
q)distinct 1 2 1
1 2
q)where 0101b
1 3
q)group`a`b`a
a| 0 2
b| ,1
q)raze(1 2;3;4 5)
1 2 3 4 5
q)flip(1 2 3;4 5 6)
1 4
2 5
3 6
q)1 2 3 in 2 3
011b
q)1 2 3?3
2
q)2_1 2 3
,3
q)-1_1 2 3
1 2
q)-2#1 2 3
2 3
q)5#1 2
1 2 1 2 1
q)2 2#til 4
0 1
2 3
q)3 cut til 7
0 1 2
3 4 5
,6
q)string 12 3
"12"
,"3"
q)`$("ab";"cd")
`ab`cd
q)"J"$"12"
12
q)`float$1 2
1 2f
q)"i"$2.6
3i
q)floor -1.5 1.5
-2 1
q)sqrt 16
4f
q)1 2,`a
1
2
`a
q)type(1;2)
7h
q)type each(1;2f;`a;"a";"ab";(1;`a);{x};+)
-7 -9 -11 -10 10 0 100 102h
q)type(::)
101h
q)@[1 2 3;1;+;10]
1 12 3
q)@[{x+`a};1;{"failed: ",x}]
"failed: type"
q).[+;1 2]
3
q).[{x+y};(1;`a);`failed]
`failed
q)t:([]s:`a`b`a;n:1 2 3;r:1.5 2.5 3.5)
q)select from t where n>1
s n r
-------
b 2 2.5
a 3 3.5
q)select total:sum n by s from t
s| total
-| -----
a| 4
b| 2
q)select n:count i,sum[r]%2 xexp 1 from t
n r
------
3 3.75
q)exec n from t
1 2 3
q)t`n
1 2 3
q)t 1
s| `b
n| 2
r| 2.5
q)update n:10*n from t
s n  r
--------
a 10 1.5
b 20 2.5
a 30 3.5
q)delete r from t
s n
---
a 1
b 2
a 3
q)count t
3
q)cols t
`s`n`r
q)value"1+2"
3
q)(`a`b!1 2),`b`c!20 30
a| 1
b| 20
c| 30
/ any
q)\ts:3 til 1000
0 8192
/ shown
q)\t til 1000
q)(k+1)!.5*1+(k:til 3)%2
1| 0.5
2| 0.75
3| 1
q)./[(2 3)#0N;(0 0;1 2);:;5 6]
5
   6
q)d:`a`b!(1 2;3 4)
q)@[;`a;"j"$]@[d;`b;"e"$]
a| 1 2
b| 3 4
q)type each @[;`a;"j"$]@[d;`b;"e"$]
a| 7
b| 8
q)x:til 10
q)x@:2 3
q)x
2 3
q)spiral:{x:til[x]%x-1; flip x*/:(sin;cos)@\:z+sum 4*(x;y)}
q)count each(spiral[5]'[til 2;2 5#.1])
5 5
q)first spiral[5;1;5#.1]
0 0f
q)10 xbar 7 12 25
0 10 20
q)select[1;>n] from t
s n r
-------
a 3 3.5
q)select[1;>total] total:sum n by s from t
s| total
-| -----
a| 4
q)` vs`:a/b/c.q
`:a/b`c.q
q)` sv`:a`b`c.q
`:a/b/c.q
q)1_string`:a/b
"a/b"
q)"-"sv("ab";"c")
"ab-c"
q)" "vs"ab c"
"ab"
,"c"
q).Q.fmt'[4 7;0 2;3 1.256]
"   3"
"   1.26"
q)med 3 1 2 10
2.5
q){x?max x}each(1 3 2;5 1 1)
1 0
q)(1 5 3;7 2 2)?'5 2
1 1
q)type rand 10
-7h
q)d:`x`y!(1 2;3 4)
q){key[x]set'get x}d
`x`y
q)x,y
1 2 3 4
q)raze(1 2;();3 4)
1 2 3 4
q)-1_'("abc";"de")
"ab"
,"d"
q)2#'3 4
3 3
4 4
q)string[12],"%"
"12%"
q)-1"Accuracy: ",string[12.5],"%";
Accuracy: 12.5%
q)x:(2 3;4 5)
q)x[0;1]:9
q)x[;0]:0
q)x
0 9
0 5
q)`a`b!(1 2 3;`x`y`z)
a| 1 2 3
b| x y z
q)([]a:1 0N;b:0n 2;c:``x)
a b c
-----
1
  2 x
q)-3!(1 0N;0n)
"(1 0N;0n)"
q)(1;[])
1
::
q)last(1;[x:3;x*2])
6
