// SPDX-License-Identifier: BSL-1.0
// Every allocation of a training step, of printing, joining and indexing fails in turn, and every mapping and thread
// that the system is asked for: once alone, and once with all that come after it. Either the work is done, or it throws
// memory_error or bad_alloc; then nothing is lost, what was there has its values, and the same work done again has the
// same results.
#include <kiln/data.hpp>
#include <kiln/io.hpp>
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>
#include <kiln/optim.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <vector>

namespace {

long countdown = -1;  // allocations that still succeed; negative: all
bool for_good = false;
std::atomic<long> live{0};         // that were not given back
std::atomic<long> mapped{0};       // bytes
bool nothing_is_unmapped = false;  // as where a process has all the mappings that it may have
const pthread_t main_thread = ::pthread_self();
long threads_wanted = 0, refused_threads = 0;

// What other threads ask for depends on when they come: theirs always succeeds.
bool fails() {
  if (countdown < 0 || ::pthread_equal(::pthread_self(), main_thread) == 0) return false;
  if (countdown > 0) {
    --countdown;
    return false;
  }
  if (!for_good) countdown = -1;
  return true;
}

// Everything that may fail goes through these; what the C library takes for itself does not.
void* taken(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes ? bytes : 1) != 0)
    return nullptr;
  ++live;
  return memory;
}
void given(void* memory) noexcept {
  if (memory != nullptr) --live;
  std::free(memory);
}
void* taken_or_thrown(std::size_t bytes, std::size_t alignment) {
  void* const memory = taken(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t n) {
  return taken_or_thrown(n, usual);
}
void* operator new[](std::size_t n) {
  return taken_or_thrown(n, usual);
}
void* operator new(std::size_t n, std::align_val_t a) {
  return taken_or_thrown(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return taken(n, usual);
}
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return taken(n, usual);
}
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return taken(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept {
  given(p);
}
void operator delete[](void* p) noexcept {
  given(p);
}
void operator delete(void* p, std::size_t) noexcept {
  given(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  given(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  given(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  given(p);
}

// What kiln asks the system for; the C library takes for itself what it needs by other names.
extern "C" {
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (fails()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  mapped += static_cast<long>(bytes);
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
int munmap(void* at, std::size_t bytes) noexcept {
  if (nothing_is_unmapped) {
    errno = ENOMEM;
    return -1;
  }
  mapped -= static_cast<long>(bytes);
  return static_cast<int>(::syscall(SYS_munmap, at, bytes));
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* of) noexcept {
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const function real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_create"));
  ++threads_wanted;
  if (fails()) {
    ++refused_threads;
    return EAGAIN;
  }
  return real(thread, attributes, work, of);
}
}

namespace {

using kiln::Tensor;

int wrong = 0;

void expect(bool good, const std::string& work, long allocation, const char* what) {
  if (good) return;
  ++wrong;
  std::printf("%s, allocation %ld (%s): %s\n", work.c_str(), allocation, for_good ? "and all later" : "alone", what);
}

std::vector<float> values(const Tensor<float>& t) {
  return {t.data(), t.data() + t.numel()};
}

// `work` returns what it computed; it keeps nothing. Threads that it starts may keep what they have until they end.
template <class Work>
void walk(const std::string& name, Work work, bool starts_threads = false) {
  const std::vector<float> wanted = work();
  for (int round = 0; round < 2; ++round) {
    kiln::cpu::empty_cache();
    work();
  }
  kiln::cpu::empty_cache();
  const long usual_mapped = mapped;
  long usual_live = live, allocations = 0, thrown = 0, kept = 0;
  for (const bool mode : {false, true}) {
    for (long k = 0;; ++k) {
      kiln::cpu::empty_cache();
      const std::size_t before = kiln::cpu::memory_stats().in_use;
      for_good = mode;
      countdown = k;
      std::vector<float> got;
      bool done = false, known = true;
      try {
        got = work();
        done = true;
      } catch (const kiln::memory_error&) {
      } catch (const std::bad_alloc&) {
      } catch (...) {
        known = false;
      }
      const bool reached = mode ? countdown == 0 : countdown < 0;
      countdown = -1;
      for_good = mode;
      if (done) expect(got == wanted, name, k, "done, with other results");
      thrown += !done;
      expect(known, name, k, "threw something else");
      expect(kiln::cpu::memory_stats().in_use == before, name, k, "lost memory");
      kiln::cpu::empty_cache();
      // What the pool describes its mappings by it keeps; another way through it may take one more than ever before.
      const long live_now = live - static_cast<long>(!got.empty());
      kept += live_now > usual_live;
      usual_live = std::max(usual_live, live_now);
      expect(starts_threads || (live_now == usual_live && kept <= 1), name, k, "lost an allocation");
      expect(mapped == usual_mapped, name, k, "lost a mapping");
      expect(work() == wanted, name, k, "done again, the results are others");
      if (!reached) {
        allocations += k;
        break;
      }
    }
  }
  std::printf("%s: %ld allocations, %ld errors\n", name.c_str(), allocations, thrown);
  if (thrown == 0 && !starts_threads) ++wrong;
}

// So that the next region has to start threads again.
void wait_for_the_ends_of_threads() {
  for (int round = 0, count = 2; count > 1 && round < 5000; ++round) {
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    char line[256];
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
      if (std::sscanf(line, "Threads: %d", &count) == 1) break;
    if (file != nullptr) std::fclose(file);
    if (count > 1) ::usleep(100);
  }
}

// A net of two layers with an optimizer over one block of memory, the same each time.
struct training {
  kiln::nn::Linear<> first{3, 4}, second{4, 2};
  kiln::optim::Adam<float> adam{{first.weight, first.bias, second.weight, second.bias}, {.lr = 0.1}};
  training() {
    const kiln::no_grad quiet;
    float next = -1;
    for (const Tensor<float>& p : {first.weight, first.bias, second.weight, second.bias})
      for (std::int64_t i = 0; i < p.numel(); ++i) p.data()[i] = next += 0.09f;
  }
  void pass(const Tensor<float>& x, const Tensor<float>& target) {
    kiln::backward(kiln::mean(kiln::square(second(kiln::relu(first(x))) - target)));
  }
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Tensor<float>& p : {first.weight, first.bias, second.weight, second.bias})
      for (const float v : values(p)) all.push_back(v);
    return all;
  }
};

// A step of an optimizer that fails anywhere has changed nothing, its count included: made again it is the one wanted.
void steps_that_fail(const Tensor<float>& x, const Tensor<float>& target) {
  std::vector<float> wanted;
  {
    training whole;
    for (int i = 0; i < 3; ++i) {
      whole.adam.zero_grad();
      whole.pass(x, target);
      whole.adam.step();
    }
    wanted = whole.weights();
  }
  long thrown = 0;
  for (const bool mode : {false, true}) {
    for (long k = 0;; ++k) {
      training t;
      bool reached = false;
      for (int i = 0; i < 3; ++i) {
        t.adam.zero_grad();
        t.pass(x, target);
        const std::vector<float> before = t.weights();
        kiln::cpu::empty_cache();
        for_good = mode;
        countdown = i == 0 ? k : -1;  // which makes the state
        bool done = false;
        try {
          t.adam.step();
          done = true;
        } catch (const kiln::memory_error&) {
        } catch (const std::bad_alloc&) {
        }
        if (i == 0) reached = mode ? countdown == 0 : countdown < 0;
        countdown = -1;
        if (done) continue;
        ++thrown;
        expect(t.weights() == before, "a step", k, "failed, with other weights");
        t.adam.step();
      }
      expect(t.weights() == wanted, "a step", k, "made again, it gives other weights");
      if (!reached) break;
    }
  }
  std::printf("a step of an optimizer: %ld errors\n", thrown);
  if (thrown == 0) ++wrong;
}

// A checkpoint that fails to load anywhere has changed nothing, and one that fails to be saved is not there.
void checkpoints_that_fail(const std::string& file, const Tensor<float>& x, const Tensor<float>& target) {
  const auto begun = [&] {
    auto t = std::make_unique<training>();
    t->pass(x, target);
    t->adam.step();
    return t;
  };
  const auto next = [&](training& t) {
    t.adam.zero_grad();
    t.pass(x, target);
    t.adam.step();
    return t.weights();
  };
  const auto saved = begun();
  next(*saved);
  kiln::io::save_checkpoint(file, 2, saved->first, saved->second, saved->adam);
  const std::vector<float> wanted = next(*saved), without = next(*begun());
  long thrown = 0;
  for (const bool mode : {false, true}) {
    for (long k = 0;; k += k < 150 ? 1 : 7) {
      const auto t = begun();
      kiln::cpu::empty_cache();
      for_good = mode;
      countdown = k;
      bool done = false, saves = false;
      std::int64_t step = 0;
      try {
        step = kiln::io::load_checkpoint(file, t->first, t->second, t->adam);
        done = true;
        kiln::io::save_checkpoint(file, step + 1, t->first, t->second, t->adam);
        saves = true;
      } catch (const kiln::memory_error&) {
      } catch (const std::bad_alloc&) {
      }
      const bool reached = mode ? countdown == 0 : countdown < 0;
      countdown = -1;
      thrown += !done + !saves;
      expect(next(*t) == (done ? wanted : without), "a checkpoint", k, done ? "other weights" : "half loaded");
      const auto again = begun();
      const std::int64_t kept = kiln::io::load_checkpoint(file, again->first, again->second, again->adam);
      expect(kept == (saves ? 3 : 2), "a checkpoint", k, saves ? "was not saved" : "was saved, and said it was not");
      kiln::io::save_checkpoint(file, 2, again->first, again->second, again->adam);
      if (!reached) break;
    }
  }
  std::printf("loading and saving a checkpoint: %ld errors\n", thrown);
  if (thrown == 0) ++wrong;
}

// Mappings that are never given back are used again, whatever sizes are wanted.
void without_unmapping() {
  const auto work = [] {
    for (const std::int64_t size : {100'000, 1'000'000, 300'000, 2'000'000}) {
      Tensor<float> large(kiln::new_tensor(kiln::dtype::float32, {size}));
      large.fill_(3);
      kiln::cpu::empty_cache();
      if (large.data()[size - 1] != 3) return false;
    }
    return true;
  };
  nothing_is_unmapped = true;
  bool good = work();
  const long first = mapped;
  for (int round = 0; round < 20; ++round) good = work() && good;
  expect(good, "without unmapping", 0, "wrong values");
  expect(mapped == first, "without unmapping", 0, "mappings pile up");
  nothing_is_unmapped = false;
}

}  // namespace

int main() {
  kiln::set_num_threads(1);
  const Tensor<float> x{{1, -2, 3}, {-4, 5, 6}, {7, 8, -9}, {1, 1, 1}}, target{{1, 0}, {0, 1}, {1, 1}, {0, 0}};
  walk("a training step", [&] {
    Tensor<float> w = Tensor<float>{{0.5f, -0.25f}, {0.75f, 1}, {-1, 0.125f}};
    Tensor<float> b{0.5f, -0.5f};
    w.requires_grad();
    b.requires_grad();
    Tensor<float> hidden = kiln::relu(kiln::matmul(x, w) + b);
    Tensor<float> loss = kiln::mean(kiln::square(hidden - target));
    kiln::backward(loss);
    Tensor<float> next = w - w.grad() * 0.5f;
    std::vector<float> all = values(next);
    for (const float v : values(b.grad())) all.push_back(v);
    all.push_back(loss.item());
    return all;
  });
  Tensor<float> kept{{0.5f, -0.25f}, {0.75f, 1}, {-1, 0.125f}};
  kept.requires_grad();
  walk("gradients of a tensor that stays", [&] {
    struct forget {
      Tensor<float>& of;
      ~forget() { of.zero_grad(); }
    } const at_end{kept};
    Tensor<float> loss = kiln::sum(kiln::softmax(kiln::matmul(x, kept), 1) * target);
    kiln::backward(loss);
    return values(kept.grad());
  });
  float numbers[] = {1, 2, 3};
  walk("a tensor of foreign memory", [&] {
    const Tensor<float> blob = kiln::from_blob(numbers, {3}, std::make_shared<int>(7));
    return values(blob);
  });
  walk("printing", [&] {
    std::ostringstream out;
    out.exceptions(std::ios::badbit);  // a stream keeps an exception of the memory for itself unless asked
    out << x;
    const std::string text = std::move(out).str();
    return std::vector<float>(text.begin(), text.end());
  });
  walk("joining, indexing, sorting", [&] {
    const Tensor<std::int64_t> rows{2, 0};
    Tensor<float> joined = kiln::cat({x, x}, 0);
    Tensor<float> some = kiln::index_select(joined, 0, rows);
    Tensor<float> turned = kiln::exp(kiln::transpose(some, 0, 1)) + 1.0f;
    return values(turned);
  });
  walk("a tape that grows and is copied", [] {
    kiln::program tape(8);
    for (std::int16_t i = 0; i < 40; ++i) tape.push({.code = kiln::opcode::leaf, .slot = i});
    const kiln::program copy(tape);
    return std::vector<float>{static_cast<float>(copy.size()), static_cast<float>(copy[39].slot)};
  });
  walk("tensors of mappings of their own", [] {
    Tensor<float> large(kiln::new_tensor(kiln::dtype::float32, {200'000}));
    large.fill_(0.5f);
    Tensor<float> larger = kiln::cat({large, large, large, large}, 0);
    Tensor<float> total = kiln::sum(larger * 2.0f);
    return values(total);
  });
  walk("a module and Adam", [&] {
    training t;
    for (int i = 0; i < 2; ++i) {
      t.adam.zero_grad();
      t.pass(x, target);
      t.adam.step();
    }
    return t.weights();
  });
  steps_that_fail(x, target);
  walk("batches of a loader", [&] {
    kiln::data::DataLoader batches(kiln::data::TensorDataset(x, target), {.batch_size = 3, .shuffle = true, .seed = 5});
    std::vector<float> all;
    for (const auto& [some, wanted] : batches)
      for (const Tensor<float>& part : {Tensor<float>(some), Tensor<float>(wanted)})
        for (const float v : values(part)) all.push_back(v);
    return all;
  });
  // What starting workers takes; what they do they ask for themselves.
  walk(
      "workers of a loader",
      [&] {
        std::vector<float> all;
        {
          kiln::data::DataLoader batches(kiln::data::TensorDataset(x, target),
                                         {.batch_size = 1, .workers = 3, .seed = 5});
          for (const auto& [some, wanted] : batches)
            for (const float v : values(Tensor<float>(some))) all.push_back(v);
        }
        wait_for_the_ends_of_threads();
        sigset_t blocked;
        ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        if (::sigismember(&blocked, SIGINT) != 0) all.push_back(-1);
        return all;
      },
      true);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("kiln_failing_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = folder / "kept.safetensors", other = folder / "x.npy";
  const auto files = [&] {
    long count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
    return count;
  };
  kiln::io::save(file, x);
  kiln::io::save(other, target);
  walk("saving and loading", [&] {
    kiln::io::save(file, x);
    kiln::io::save(other, target);
    std::vector<float> all = values(kiln::io::load<Tensor<float>>(file));
    for (const float v : values(kiln::io::load<Tensor<float>>(other))) all.push_back(v);
    return all;
  });
  expect(files() == 2, "saving", 0, "left a file behind");
  expect(values(kiln::io::load<Tensor<float>>(file)) == values(x), "saving", 0, "the file is not what it was");
  training saved;
  walk("a checkpoint", [&] {
    kiln::io::save_checkpoint(file, 3, saved.first, saved.second, saved.adam);
    training resumed;
    kiln::io::load_checkpoint(file, resumed.first, resumed.second, resumed.adam);
    return resumed.weights();
  });
  expect(files() == 2, "a checkpoint", 0, "left a file behind");
  checkpoints_that_fail(file, x, target);
  std::filesystem::remove_all(folder);
  walk(
      "threads",
      [] {
        kiln::set_num_threads(4);
        std::vector<float> sums(300);
        std::atomic<int> visited{0};
        kiln::cpu::parallel_for(300, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) sums[static_cast<std::size_t>(i)] = static_cast<float>(i);
          visited += static_cast<int>(end - begin);
        });
        kiln::set_num_threads(1);
        wait_for_the_ends_of_threads();
        sums.push_back(static_cast<float>(visited));
        return sums;
      },
      true);
  std::printf("%ld of %ld threads were refused\n", refused_threads, threads_wanted);
  if (refused_threads == 0) ++wrong;
  without_unmapping();
  if (wrong == 0) std::puts("failing: as promised");
  return wrong == 0 ? 0 : 1;
}
