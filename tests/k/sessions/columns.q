/ Tables, dictionaries and lists of columns as one matrix.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)t:([]price:10 10.5 11;size:100 200 300)
q)tensor x:tensor t
10   100
10.5 200
11   300
q)dtype x
`double
q)tensor y:tensor(t;`float`grad)
10   100
10.5 200
11   300
q)gradient y
`grad
/ Temporals are the integers that stand for them.
q)tensor tensor([]day:2000.01.01 2000.01.11;at:00:00:01.000 00:01:00.000)
0  1000 
10 60000
q)tensor tensor`a`b!(1 2;3 4)
1 3
2 4
/ Symbols become codes; the key is kept.
q)trades:([]sym:`ibm`msft`ibm;size:1 2 3)
q)tensor trades
'tensor: column `sym has symbols: `columns` gives their codes, and the key
  [0]  tensor trades
       ^
q)r:columns trades
q)tensor r 0
0 1
1 2
0 3
q)r 1
sym| ibm msft
q)(last[r]`sym)(tensor r 0)[;0]
`ibm`msft`ibm
q)last columns t
(`symbol$())!()
q)last columns(1 2;`a`b)
1| a b
/ Nulls stay the numbers that stand for them, unless an option says otherwise.
q)n:([]a:1 0N 3;b:1 2 0n)
q)tensor first columns([]a:1 0N 3)
1
 
3
q)tensor first columns n
1             1
-9.223372e+18 2
3              
q)tensor first columns(n;`nulls`zero)
1 1
0 2
3 0
q)columns(n;`nulls`error)
'columns: column `a has a null in row 1
  [0]  columns(n;`nulls`error)
       ^
q)columns(n;`nulls`drop)
'columns: option nulls is `keep, `error or `zero, given `drop
  [0]  columns(n;`nulls`drop)
       ^
/ What no dtype holds is refused, by the column's name.
q)columns([]a:1 2;names:("ab";"cd"))
'columns: column `names is a general list, expected a list of numbers, temporals or symbols
  [0]  columns([]a:1 2;names:("ab";"cd"))
       ^
q)columns`a`b!(1 2;1 2 3)
'columns: column `b has 3 rows, column `a has 2
  [0]  columns`a`b!(1 2;1 2 3)
       ^
q)free()
