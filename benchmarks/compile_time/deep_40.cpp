// SPDX-License-Identifier: BSL-1.0
// One expression of 40 ops, forward only: the cost of an expression must grow in a straight line.
#include <kiln/kiln.hpp>

kiln::Tensor<float> f(kiln::Tensor<float> a, kiln::Tensor<float> b) {
  return (((((((((((((((((((((((((((((((((((((((a * b) + b) * b) + b) * b) + b) * b) + b) * b) + b) * b) + b) * b) +
                                   b) *
                                  b) +
                                 b) *
                                b) +
                               b) *
                              b) +
                             b) *
                            b) +
                           b) *
                          b) +
                         b) *
                        b) +
                       b) *
                      b) +
                     b) *
                    b) +
                   b) *
                  b) +
                 b) *
                b) +
               b) *
              b) +
             b) *
            b) +
           b) *
          b) +
         b;
}
