// SPDX-License-Identifier: BSL-1.0
// What launching costs on the host, where the work itself is nothing; and what compiling a kernel costs, or taking it
// from the disk.
#include <kiln/device/cuda/compile/compile.hpp>

#include <filesystem>

#include "measure.hpp"

using namespace measure;

namespace {

constexpr std::int64_t few = 1024;

void enter_launches() {
  enter(
      "launch/add/1024", "kiln",
      [] {
        const on_device<float> a = randn<float, Cuda>({few}), b = randn<float, Cuda>({few});
        auto out = std::make_shared<on_device<float>>();
        work made;
        made.run = [=] { *out = a + b; };
        made.wrong = [=] {
          auto x = values_of(a), y = values_of(b);
          for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
          return difference(values_of(*out), x, 1e-6);
        };
        return made;
      },
      clock_kind::call);
  enter(
      "launch/chain/1024", "kiln",
      [] {
        const on_device<float> a = randn<float, Cuda>({few}), b = randn<float, Cuda>({few});
        auto out = std::make_shared<on_device<float>>();
        work made;
        made.run = [=] { *out = relu(a * b + a) - 0.5f * tanh(b); };
        made.wrong = [=] {
          auto x = values_of(a), y = values_of(b);
          for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::max(0.0, x[i] * y[i] + x[i]) - 0.5 * std::tanh(y[i]);
          return difference(values_of(*out), x, 1e-5);
        };
        return made;
      },
      clock_kind::call);
  enter(
      "launch/gradient/1024", "kiln",
      [] {
        auto a = std::make_shared<on_device<float>>(randn<float, Cuda>({few}));
        a->requires_grad();
        work made;
        made.run = [=] {
          a->zero_grad();
          backward(sum(square(*a)));
        };
        made.wrong = [=] {
          auto x = values_of(a->detach());
          for (double& v : x) v *= 2;
          return difference(values_of(a->grad()), x, 1e-6);
        };
        return made;
      },
      clock_kind::call);
}

cuda::compile_request request(const std::string& text, int number) {
  cuda::compile_request made;
  made.text = text + "// " + std::to_string(number) + "\n";
  made.name = "measured";
  made.architecture = cuda::properties({}).architecture;
  return made;
}

// The text is another one each time, so that no cache of anybody's knows it.
template <class Text>
void enter_compiler(const std::string& contest, Text text_of) {
  enter(
      contest, "kiln",
      [=] {
        const std::string text = text_of();
        auto good = std::make_shared<bool>(true);
        auto number = std::make_shared<int>(0);
        work made;
        made.run = [=] {
          const auto result = cuda::compile_with(cuda::nvrtc())(request(text, ++*number));
          *good &= result.good && !result.image.empty();
        };
        made.wrong = [=] { return *good ? "" : "the text does not compile"; };
        return made;
      },
      clock_kind::call);
}

struct ending_folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("kiln_measured_" + std::to_string(::getpid()));
  ~ending_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

[[maybe_unused]] const bool entered = [] {
  enter_launches();
  const auto map = [] {
    const on_device<float> a = ones<float, Cuda>({few}), b = ones<float, Cuda>({few});
    return source<Cuda>(relu(a * b + a) - 0.5f * tanh(b));
  };
  enter_compiler("compile/map", map);
  enter_compiler("compile/rows", [] { return source<Cuda>(layer_norm(ones<float, Cuda>({few, few}), 1)); });
  enter(
      "compile/disk", "kiln",
      [map] {
        auto folder = std::make_shared<ending_folder>();
        cuda::cache_settings settings;
        settings.folder = folder->path;
        auto cache = std::make_shared<cuda::compile_cache>(settings);
        const cuda::compile_request wanted = request(map(), 0);
        cache->get(wanted, cuda::compile_with(cuda::nvrtc()));
        work made;
        made.run = [=] {
          cache->forget();
          cache->get(wanted, [](const cuda::compile_request&) { return cuda::compile_result{}; });
          (void)folder;
        };
        made.wrong = [=] { return cache->counts().from_disk > 0 ? "" : "it did not come from the disk"; };
        return made;
      },
      clock_kind::call);
  return true;
}();

}  // namespace
