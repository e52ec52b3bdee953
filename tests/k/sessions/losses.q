/ Losses of margins, rankings and several labels, as functions and as objects.
q)f:key{key[x]set'x}(`kilnq 2:`fns,1)[]
q)hinge(.5 -1 2.;1 -1 1.)
1.5
q)hinge(.5 -1 2.;1 -1 1.;.5;`none)
0.5 1.5 2
q)hinge(.5 -1 2.;1 -1 1.;`margin`reduce!(.5;`sum))
4f
/ tolerance 1e-6
q)softmargin(.5 -1 2.;1 -1 1.)
0.3047556
q)x:(.5 -1 2.;1 0 -2.)
/ tolerance 1e-6
q)multisoft(x;(1 0 1;0 1 0);`none)
0.3047556 0.7111123
/ tolerance 1e-6
q)bcelogit2(x;(1 0 1;0 1 0);1 2 3.;`none)
0.474077 0.6265234 0.380784 
1.313262 1.386294  0.380784 
/ tolerance 1e-6
q)multimargin(x;2 1;`none)
0 0.6666667
/ tolerance 1e-6
q)multimargin(x;0 1;2;.5;`none)
1.333333 0.75
/ tolerance 1e-6
q)multilabel(.1 .2 .4 .8;3 0 -1 1)
0.85
q)multilabel(x;(2 -1 0;1 0 -1);`none)
0 0f
/ tolerance 1e-6
q)poissonloss(.5 1;1 3.;`none)
1.148721 -0.2817182
/ tolerance 1e-6
q)poissonloss(.5 1;1 3.;`log`reduce!(0b;`none))
1.193147 1
/ tolerance 1e-6
q)poissonloss(.5 1;1 3.;1b;1b;`none)
1.148721 1.482363
/ tolerance 1e-6
q)cosineloss((1 2.;1 0.);(3 4.;1 1.);1 -1;.5;`none)
0.01613009 0.2071068
q)margin(1 4.;3 2.;1 -1;.5;`none)
2.5 2.5
/ tolerance 1e-6
q)triplet((0 0.;0 0.);(3 4.;3 4.);(1 0.;1 1.);1.;`none)
5 4.585786
q)l:loss(`triplet;`margin,2.)
q)loss l
loss   | `triplet
options| (,`margin)!,2f
/ tolerance 1e-6
q)return loss(l;(0 0.;0 0.);(3 4.;3 4.);(1 0.;1 1.))
5.792893
q)l2:loss(`margin;.5)
q)return loss(l2;1 4.;3 2.;1 -1)
2.5
q)loss(l2;1 4.;1 -1)
'loss: expects a loss, two outputs and a target, given 3 arguments
  [0]  loss(l2;1 4.;1 -1)
       ^
q)l3:loss`hinge
q)objtype each(l;l3)
`triplet`hinge
q)t:tensor(.5 -1 2.;`grad)
q)backward loss(l3;t;1 -1 1.)
q)grad t
0.3333333 -0.3333333 0.3333333
q)hinge(.5 -1;1 -1 1)
'hinge: sizes [2] and [3] are not the same
  [0]  hinge(.5 -1;1 -1 1)
       ^
q)hinge(.5 -1;1 -1;`margins,1.)
'hinge: unrecognized option `margins
  [0]  hinge(.5 -1;1 -1;`margins,1.)
       ^
q)multilabel(.1 .2;2 -1)
'multilabel: label 2 is not in 0 to 1
  [0]  multilabel(.1 .2;2 -1)
       ^
q)mse(1 2.;1 3.;.5)
'mse: argument 3 is a double scalar, expected named options
  [0]  mse(1 2.;1 3.;.5)
       ^
/ Labels within time: three of four ways of two times say 1.
q)t:tensor(2 2#log .5;`grad)
q)v:ctc(t;enlist 1;enlist 2;enlist 1)
/ tolerance 1e-6
q)tensor v
0.2876821
q)backward v
/ tolerance 1e-6
q)grad t
-0.3333333 -0.6666667
-0.3333333 -0.6666667
/ fails
q)ctc(t;enlist 0;enlist 2;enlist 1)
'ctc: ctc_loss: label 0 of sequence 0 is the blank
q)free()
