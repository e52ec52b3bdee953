/ What a library may do, and what the host says about breaches; k_host/library.cpp has the functions.
q)f:key{key[x]set'x}(`any 2:`functions,1)[]
q)f
`twice`both`handle`nothing
q)twice 21
42
q)twice each 1 2 3
2 4 6
q)twice `a
'twice: expecting a long
  [0]  twice `a
       ^
q)1+twice each (1;`a)
'twice: expecting a long
  [0]  1+twice each (1;`a)
               ^
q){3+twice x}`a
'twice: expecting a long
  [1]  {3+twice x}
          ^
q)twice
code
q)type twice
112h
q)both[1;`a]
1
`a
q)both[1]each 2 3
1 2
1 3
q)both[1;2;3]
'rank
q)h:handle[]
q)type h
0h
q)type each h
,-7h
q)h
,1234
q)nothing 1
q)type nothing[]
101h
q)eight:`any 2:`eight,8
q)eight[1;2;3;4;5;6;7;8]
8
7
6
5
4
3
2
1
q)calls:`any 2:(`calls;2)
q)calls[{x+y};1 2]
3
q)calls[twice;enlist 4]
8
q)calls[twice;enlist`a]
'twice: expecting a long
q)calls[{x+y};(1;`a)]
'type
q)asks:`any 2:(`asks;2)
q)asks["{x*x}";7]
49
q)asks["nosuch";7]
'nosuch
q)(`any 2:(`system_error;1))[]
'close. OS reports: Bad file descriptor
q)(`any 2:(`error_object;1))[]
'as an object
q)(`any 2:(`releases;1))1 2 3
'host: the function released its argument
q)(`any 2:(`throws;1))[]
'host: an exception came through the C interface
q)(`any 2:(`both_results;1))[]
'host: a value was returned with an error pending: forgotten
/ fails
q)`any 2:(`nosuch;1)
undefined symbol: nosuch
