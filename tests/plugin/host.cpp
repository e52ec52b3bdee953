// SPDX-License-Identifier: BSL-1.0
// Opens and closes plugins that use kiln, without using it. A thread of a library that is no longer there would end
// this program by a signal.
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

void* open_plugin(const char* path) {
  void* const handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::exit(1);
  }
  return handle;
}

template <class Result, class... Arguments>
void expect(void* plugin, const char* function, Result wanted, Arguments... arguments) {
  Result (*call)(Arguments...) = nullptr;
  *reinterpret_cast<void**>(&call) = ::dlsym(plugin, function);
  if (call != nullptr && call(arguments...) == wanted) return;
  std::fprintf(stderr, "%s: wrong\n", function);
  std::exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  ::alarm(60);
  for (int round = 0; round < 20; ++round) {
    void* const one = open_plugin(arguments[1]);
    expect(one, "plugin_threads", 64);
    ::dlclose(one);  // while the threads look for more work
    const timespec moment{0, round * 20'000};
    ::nanosleep(&moment, nullptr);
  }
  // Two copies at once, and each again after both were closed.
  for (int round = 0; round < 20; ++round) {
    void *const one = open_plugin(arguments[1]), *const two = open_plugin(arguments[2]);
    for (int again = 0; again < 5; ++again) {
      expect(one, "plugin_sum", std::int64_t{4950}, std::int64_t{100});
      expect(two, "plugin_sum", std::int64_t{49995000}, std::int64_t{10000});
    }
    ::dlclose(one);
    expect(two, "plugin_sum", std::int64_t{499500}, std::int64_t{1000});
    ::dlclose(two);
  }
  std::puts("plugins: as promised");
  return 0;
}
