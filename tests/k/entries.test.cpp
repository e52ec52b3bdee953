// SPDX-License-Identifier: BSL-1.0
// The whole library as q gets it: the dictionary of functions, and calls of all of them with anything.
#include <kiln/k.hpp>
#include <kiln/k/decompositions_impl.hpp>
#include <kiln/k/files_impl.hpp>
#include <kiln/k/numerics_impl.hpp>

#include "k/pages.hpp"
#include "k/support.hpp"

#include <cstdlib>
#include <map>
#include <random>

using namespace k_test;

namespace {

owned function_named(const owned& all, std::string_view name) {
  const auto row = *k::find_function(name);
  return owned::share(k::items<k::object>(k::values_of(all.get()))[row]);
}

// Functions of q for callbacks: one gives its second argument, one fails, one gives what is no tensor.
k::object give_second(k::object, k::object y) {
  return k::r1(y);
}
k::object fail(k::object, k::object) {
  return k::krr("this function fails");
}
k::object give_symbol(k::object, k::object) {
  return k::make_symbol("no_tensor");
}

}  // namespace

TEST_CASE("fns gives all functions by name, with their arity") {
  const no_leak watch;
  const owned all(k::fns(nullptr));
  REQUIRE(all.get()->type == k::dictionary_type);
  const auto names = *k::read_symbols(k::keys_of(all.get()));
  REQUIRE(names.size() == k::functions.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(names[i] == k::functions[i].name);
    k::object f = k::items<k::object>(k::values_of(all.get()))[i];
    CHECK(f->type == k::foreign_type);
    CHECK(k_host::foreign_arity(f) == (names[i] == "use" ? 2 : 1));
  }
  const owned two(k::make_longs(std::vector<std::int64_t>{2, 3}));
  k::object argument = two.get();
  const owned product(k_host::call_foreign(function_named(all, "mul").get(), &argument));
  CHECK(product.get()->long_integer == 6);
}

TEST_CASE("a name without an implementation answers with an error, and help says so") {
  const no_leak watch;
  std::size_t offered = 0;
  for (std::size_t row = 0; row < k::functions.size(); ++row) {
    if (k::library().offers(row)) {
      ++offered;
      continue;
    }
    const owned x = number(1);
    CHECK(k::library().call(row, x.get(), x.get()) == nullptr);
    CHECK(std::string(k_host::pending_error()) ==
          std::string(k::functions[row].name) + ": not offered by kiln in this version; help[] lists what is");
    // What tier 1 and the four further names promise is there.
    CHECK_MESSAGE(k::functions[row].tier > 1, k::functions[row].name);
  }
  k_host::clear_error();
  CHECK_MESSAGE(offered >= 250, offered, " functions are offered");
}

TEST_CASE("calls with anything fail with an error of q, leave nothing behind and do no harm") {
  const no_leak watch;
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return random() % n; };
  std::vector<owned> handles;
  const auto atom = [&]() -> owned {
    static constexpr std::int64_t numbers[] = {-3, -1, 0, 1, 2, 3, 5, k::null_long, std::int64_t{1} << 40};
    static constexpr std::string_view words[] = {"",
                                                 "grad",
                                                 "cpu",
                                                 "cuda",
                                                 "float",
                                                 "long",
                                                 "mse",
                                                 "linear",
                                                 "relu",
                                                 "adam",
                                                 "sequential",
                                                 "zeros",
                                                 "rand",
                                                 "randn",
                                                 "loss",
                                                 "x",
                                                 "sgd",
                                                 "batchsize",
                                                 "weight",
                                                 "\xc3\xa4",
                                                 "fork",
                                                 "add",
                                                 "cat",
                                                 "residual",
                                                 "recur",
                                                 "seqjoin",
                                                 "view",
                                                 "/tmp/kiln_fuzz.npy",
                                                 "/tmp/kiln_fuzz.safetensors"};
    switch (below(9)) {
      case 0:
        return flag(random() & 1);
      case 1:
        return number(0.5 * static_cast<double>(below(9)) - 2);
      case 2:
        return owned(k::ke(1.5));
      case 3:
        return owned(k::ki(2));
      case 4:
      case 5:
        return number(numbers[below(std::size(numbers))]);
      case 6:
        return null();
      default:
        return symbol(words[below(std::size(words))]);
    }
  };
  const auto value = [&](auto&& self, int depth) -> owned {
    switch (below(depth > 2 ? 5 : 17)) {
      case 0:
        return longs({0, 1});
      case 1:
        return floats({1, 2, 3});
      case 2:
        return symbols({"linear", "relu"});
      case 3:
        return empty_list();
      case 4:
        return atom();
      case 5:
        return list(reals({1, 2}), reals({3, 4}));
      case 6:
        return owned(
            k::make_dictionary(std::vector<std::string>{"a", "lr"}, list(self(self, 3), self(self, 3)).release()));
      case 7:
        return list(self(self, depth + 1), self(self, depth + 1), self(self, depth + 1));
      case 9: {
        const std::vector<std::string> names{"a", "b"};
        return owned(k::xT(k::make_dictionary(
            names, list(longs({1, k::null_long}), below(2) ? floats({1, 2}) : symbols({"x", ""})).release())));
      }
      case 10: {
        void* const functions[] = {reinterpret_cast<void*>(&give_second), reinterpret_cast<void*>(&fail),
                                   reinterpret_cast<void*>(&give_symbol)};
        return list(symbol("callback"), owned(k::dl(functions[below(3)], 2)));
      }
      case 11: {
        static constexpr std::string_view containers[] = {"sequential", "fork",      "residual", "seqjoin",
                                                          "recur",      "transform", "seqnest"};
        return list(symbol(containers[below(std::size(containers))]), self(self, depth + 1), self(self, depth + 1));
      }
      case 12:
        return list(floats({2, 1}), floats({1, 3}));
      case 8:
        return list(symbol("linear"), number(2), number(2));
      default:
        return handles.empty() ? atom() : copy(handles[below(handles.size())]);
    }
  };
  int errors = 0, results = 0;
  const char* more = std::getenv("KILN_CALLS");  // 1000000 takes a minute
  const int calls = more ? std::atoi(more) : 30000;
  for (int i = 0; i < calls; ++i) {
    const std::size_t row = below(k::functions.size());
    owned x;
    switch (below(4)) {
      case 0:
        x = value(value, 0);
        break;
      case 1:
        x = list(value(value, 0), value(value, 0));
        break;
      case 2:
        x = list(value(value, 0), value(value, 0), value(value, 0));
        break;
      default:
        x = list(value(value, 0));
    }
    const owned y = value(value, 0);
    const int before = k_host::owners(x.get());
    k_host::clear_error();
    owned result(k::library().call(row, x.get(), y.get()));
    REQUIRE(k_host::owners(x.get()) >= before);
    if (!result.get()) {
      REQUIRE(k_host::pending_error() != nullptr);
      // The function's name and what it has against the argument, or "stale pointer"; what a function of q that was
      // called said, it has said itself.
      const std::string_view said = k_host::pending_error();
      INFO(k::functions[row].name, " said ", said);
      REQUIRE((said.size() > 10 || k::functions[row].name == "scope"));
      ++errors;
      continue;
    }
    ++results;
    if (k::handle_number(result.get())) {
      if (handles.size() < 40)
        handles.push_back(std::move(result));
      else
        handles[below(handles.size())] = std::move(result);
    }
  }
  CHECK(errors > 1000);
  CHECK(results > 1000);
  for (const auto& [event, run] :
       std::map<int, std::shared_ptr<k::background::trainer>>(k::background::trainers().by_event))
    k::background::forget(*run->model());
  k::temporaries().set(false);
  k::handles().clear();
  k_host::clear_error();
  handles.clear();
}

TEST_CASE("the pages of docs/q are what the table and the sessions say") {
  // KILN_WRITE_PAGES=1 writes them anew.
  for (const page& p : pages) {
    const std::string file = std::string(KILN_TEST_SOURCE_DIR) + "/docs/q/" + std::string(p.name) + ".md";
    if (std::getenv("KILN_WRITE_PAGES")) std::ofstream(file) << text_of(p);
    CHECK_MESSAGE(text_of(file) == text_of(p), file, " is not what the table says: run with KILN_WRITE_PAGES=1");
  }
}
