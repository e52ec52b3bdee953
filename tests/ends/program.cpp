// SPDX-License-Identifier: BSL-1.0
// Expressions, backward passes and regions of threads in destructors of static and thread-local objects, those made
// before kiln was used and those made after: what kiln keeps for a thread or a process must be there to the end.
#include <kiln/kiln.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

std::atomic<int> good{0};

// A step of training, with a loss and gradients in closed form: d/dx mean((2 x)^2) = 8 x / n.
void step(kiln::Tensor<float> x) {
  x.requires_grad();
  kiln::Tensor<float> doubled = x * 2.0f;
  kiln::Tensor<float> loss = kiln::mean(kiln::square(doubled));
  kiln::backward(loss);
  std::atomic<int> chunks{0};
  kiln::cpu::parallel_for(64, 1,
                          [&](std::int64_t begin, std::int64_t end) { chunks += static_cast<int>(end - begin); });
  const bool right = loss.item() == 30.0f && x.grad().data()[3] == 8.0f && chunks == 64;
  if (!right) std::abort();
  ++good;
}

struct last_act {
  kiln::Tensor<float> x;
  void begin() { x = {1, 2, 3, 4}; }
  ~last_act() {
    step(x);
    step({1, 2, 3, 4});
  }
};

struct last_words {
  ~last_words() { std::printf("%d ends as promised\n", good.load()); }
};

}  // namespace

int main() {
  static last_words words;
  static last_act before;  // ends after what kiln makes from here on
  static thread_local last_act before_of_thread;
  before.begin();
  before_of_thread.begin();
  kiln::set_num_threads(3);
  step({1, 2, 3, 4});
  static last_act after;
  static thread_local last_act after_of_thread;
  after.begin();
  after_of_thread.begin();
  std::thread([] {
    static thread_local last_act other;
    other.begin();
    step({1, 2, 3, 4});
  }).join();
  return 0;
}
