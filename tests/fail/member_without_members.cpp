// expect: kiln: the members of this type can't be found, since it is no aggregate
// SPDX-License-Identifier: BSL-1.0
// A module with a member whose members can't be found.
#include <kiln/nn/module.hpp>
#include <kiln/tensor/creation.hpp>

using namespace kiln;

class Scale {
 public:
  explicit Scale(float by) : by_(full<float>({1}, by)) {}
#ifndef EXPECT_ERROR
  static auto members(auto& self) { return std::tuple{nn::named("by", self.by_)}; }
#endif

 private:
  Tensor<float> by_;
};
struct Net {
  Scale scale{2};
};

auto all(const Net& net) {
  return nn::parameters(net);
}
