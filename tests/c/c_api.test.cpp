// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <kiln/c_api.hpp>

#include "support/child.hpp"

namespace {

using sizes_t = std::vector<std::int64_t>;

kiln_tensor made(const sizes_t& sizes, const std::vector<double>& values) {
  kiln_tensor x{};
  REQUIRE(kiln_from_host(KILN_FLOAT64, sizes.data(), static_cast<std::int32_t>(sizes.size()), values.data(),
                         values.size() * sizeof(double), &x) == KILN_OK);
  return x;
}
std::vector<double> values_of(kiln_tensor x) {
  std::int64_t n = 0;
  REQUIRE(kiln_tensor_numel(x, &n) == KILN_OK);
  std::vector<double> all(static_cast<std::size_t>(n));
  REQUIRE(kiln_to_host(x, all.data(), all.size() * sizeof(double)) == KILN_OK);
  return all;
}
sizes_t sizes_of(kiln_tensor x) {
  std::int32_t dim = 0;
  REQUIRE(kiln_tensor_dim(x, &dim) == KILN_OK);
  sizes_t all(static_cast<std::size_t>(dim));
  REQUIRE(kiln_tensor_sizes(x, all.data(), dim) == KILN_OK);
  return all;
}
/// Whether a call failed so, with a sentence that names the function and has this in it.
bool failed(kiln_status got, kiln_status wanted, const std::string& where, const std::string& part) {
  const std::string text = kiln_last_error();
  INFO(got << " " << text);
  CHECK(got == wanted);
  CHECK(text.starts_with(where + ": "));
  CHECK(text.find(part) != std::string::npos);
  return got == wanted;
}
template <class... H>
void free_all(H... handles) {
  for (const kiln_tensor each : {handles...}) CHECK(kiln_tensor_free(each) == KILN_OK);
}

}  // namespace

TEST_CASE("c: values come and go, and are computed with") {
  const std::int64_t before = kiln_live_handles();
  const kiln_tensor a = made({2, 3}, {1, 2, 3, 4, 5, 6}), b = made({3}, {10, 20, 30});
  kiln_tensor sum{}, mean{}, product{}, turned{}, row{}, part{}, both{}, order{}, soft{}, logs{}, place{}, whole{};
  const kiln_tensor operands[] = {a, b};
  CHECK(kiln_call("add", operands, 2, &sum) == KILN_OK);
  CHECK(values_of(sum) == std::vector<double>{11, 22, 33, 14, 25, 36});
  const std::int64_t last = -1;
  CHECK(kiln_reduce("mean", a, &last, 1, 1, &mean) == KILN_OK);
  CHECK(sizes_of(mean) == sizes_t{2, 1});
  CHECK(values_of(mean) == std::vector<double>{2, 5});
  CHECK(kiln_transpose(a, 0, 1, &turned) == KILN_OK);
  CHECK(values_of(turned) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(kiln_matmul(a, turned, &product) == KILN_OK);
  CHECK(values_of(product) == std::vector<double>{14, 32, 32, 77});
  CHECK(kiln_select(a, 0, -1, &row) == KILN_OK);
  CHECK(values_of(row) == std::vector<double>{4, 5, 6});
  CHECK(kiln_narrow(a, 1, 1, 2, &part) == KILN_OK);
  CHECK(values_of(part) == std::vector<double>{2, 3, 5, 6});
  const kiln_tensor parts[] = {row, b};
  CHECK(kiln_cat(parts, 2, 0, &both) == KILN_OK);
  CHECK(values_of(both) == std::vector<double>{4, 5, 6, 10, 20, 30});
  const std::int64_t shape[] = {-1, 2}, axes[] = {1, 0};
  CHECK(kiln_permute(turned, axes, 2, &order) == KILN_OK);
  CHECK(values_of(order) == values_of(a));
  free_all(order);
  CHECK(kiln_reshape(a, shape, 2, &order) == KILN_OK);
  CHECK(sizes_of(order) == sizes_t{3, 2});
  CHECK(kiln_softmax(row, 0, &soft) == KILN_OK);
  CHECK(kiln_log_softmax(row, 0, &logs) == KILN_OK);
  const double all = 1 + std::exp(1.0) + std::exp(2.0);
  CHECK(values_of(soft)[2] == doctest::Approx(std::exp(2.0) / all));
  CHECK(values_of(logs)[0] == doctest::Approx(-std::log(all)));
  CHECK(kiln_argmax(row, 0, 0, &place) == KILN_OK);
  std::int64_t index = 0;
  CHECK(kiln_item_int64(place, &index) == KILN_OK);
  CHECK(index == 2);
  CHECK(kiln_to_dtype(row, KILN_INT16, &whole) == KILN_OK);
  kiln_dtype type = -1;
  CHECK(kiln_tensor_dtype(whole, &type) == KILN_OK);
  CHECK(type == KILN_INT16);
  CHECK(kiln_assign(row, soft) == KILN_OK);
  CHECK(values_of(a)[3] == values_of(soft)[0]);  // the row is a view
  free_all(a, b, sum, mean, product, turned, row, part, both, order, soft, logs, place, whole);
  CHECK(kiln_live_handles() == before);
}

TEST_CASE("c: new tensors") {
  const std::int64_t two = 2;
  kiln_tensor x{};
  const auto check = [&](kiln_status status, const std::vector<double>& wanted) {
    CHECK(status == KILN_OK);
    CHECK(values_of(x) == wanted);
    free_all(x);
  };
  check(kiln_zeros(KILN_FLOAT64, &two, 1, &x), {0, 0});
  check(kiln_ones(KILN_FLOAT64, &two, 1, &x), {1, 1});
  check(kiln_full(KILN_FLOAT64, &two, 1, -2.5, &x), {-2.5, -2.5});
  check(kiln_full(KILN_FLOAT64, nullptr, 0, 7, &x), {7});
  check(kiln_arange(KILN_FLOAT64, 1, 2, 0.25, &x), {1, 1.25, 1.5, 1.75});
  check(kiln_scalar_float(0.5, KILN_FLOAT64, &x), {0.5});
  std::vector<double> first;
  for (int i = 0; i < 2; ++i) {
    CHECK(kiln_seed(11) == KILN_OK);
    CHECK(kiln_randn(KILN_FLOAT64, &two, 1, &x) == KILN_OK);
    if (i) CHECK(values_of(x) == first);
    first = values_of(x);
    free_all(x);
  }
  CHECK(kiln_rand(KILN_FLOAT64, &two, 1, &x) == KILN_OK);
  for (const double v : values_of(x)) CHECK((v >= 0 && v < 1));
  free_all(x);
  CHECK(std::string(kiln_version()) == "0.1.0");
}

TEST_CASE("c: gradients") {
  kiln_tensor x = made({2}, {1, 2}), y{}, loss{}, grad{}, apart{};
  std::int32_t on = -1;
  CHECK(kiln_set_requires_grad(x, 1) == KILN_OK);
  CHECK(kiln_grad(x, &grad) == KILN_OK);
  CHECK(grad.id == 0);
  CHECK(kiln_call("square", &x, 1, &y) == KILN_OK);
  CHECK(kiln_reduce("sum", y, nullptr, 0, 0, &loss) == KILN_OK);
  CHECK(kiln_backward(loss, {}, 1) == KILN_OK);
  CHECK(kiln_backward(loss, {}, 0) == KILN_OK);
  CHECK(kiln_grad(x, &grad) == KILN_OK);
  CHECK(values_of(grad) == std::vector<double>{4, 8});
  CHECK(kiln_zero_grad(x) == KILN_OK);
  free_all(grad);
  CHECK(kiln_grad(x, &grad) == KILN_OK);
  CHECK(grad.id == 0);
  failed(kiln_backward(loss, {}, 0), KILN_GRAPH_ERROR, "kiln_backward", "");
  failed(kiln_backward(y, {}, 0), KILN_GRAPH_ERROR, "kiln_backward", "");
  CHECK(kiln_detach(x, &apart) == KILN_OK);
  CHECK(kiln_requires_grad(apart, &on) == KILN_OK);
  CHECK(on == 0);
  std::int32_t before = -1;
  CHECK(kiln_set_grad_enabled(0, &before) == KILN_OK);
  CHECK(before == 1);
  free_all(y);
  CHECK(kiln_call("square", &x, 1, &y) == KILN_OK);
  CHECK(kiln_eval(y) == KILN_OK);
  CHECK(kiln_set_grad_enabled(before, nullptr) == KILN_OK);
  CHECK(kiln_requires_grad(y, &on) == KILN_OK);
  CHECK(on == 0);
  free_all(x, y, loss, apart);
}

TEST_CASE("c: a module, a loss and an optimizer take the step that one takes by hand") {
  const kiln_option options[] = {{"in_features", KILN_OPTION_INT, 0, 2, 0, nullptr, nullptr},
                                 {"out_features", KILN_OPTION_INT, 0, 1, 0, nullptr, nullptr},
                                 {"bias", KILN_OPTION_BOOL, 0, 0, 0, nullptr, nullptr},
                                 {"dtype", KILN_OPTION_TEXT, 0, 0, 0, "float64", nullptr}};
  kiln_module linear{}, model{};
  kiln_tensor weight{}, y{}, loss{};
  REQUIRE(kiln_module_create("Linear", options, 4, &linear) == KILN_OK);
  REQUIRE(kiln_module_sequential(&linear, 1, &model) == KILN_OK);
  CHECK(kiln_module_free(linear) == KILN_OK);
  std::int64_t count = 0;
  CHECK(kiln_module_parameter_count(model, &count) == KILN_OK);
  CHECK(count == 1);
  REQUIRE(kiln_module_parameter(model, 0, &weight) == KILN_OK);
  char path[9];
  CHECK(kiln_module_parameter_name(model, 0, path, sizeof path) == KILN_OK);
  CHECK(std::string(path) == "0.weight");
  failed(kiln_module_parameter_name(model, 0, path, 8), KILN_VALUE_ERROR, "kiln_module_parameter_name", "room");
  failed(kiln_module_parameter(model, 1, &y), KILN_INDEX_ERROR, "kiln_module_parameter", "count from 0");
  CHECK(kiln_module_train(model, 0) == KILN_OK);

  const kiln_tensor start = made({1, 2}, {1, -1}), x = made({1, 2}, {3, 2}), target = made({1, 1}, {5});
  CHECK(kiln_assign(weight, start) == KILN_OK);
  const kiln_option rate{"lr", KILN_OPTION_FLOAT, 0, 0, 0.125, nullptr, nullptr};
  kiln_optimizer sgd{};
  REQUIRE(kiln_optimizer_create("SGD", &weight, 1, &rate, 1, &sgd) == KILN_OK);
  failed(kiln_optimizer_step(sgd), KILN_GRAPH_ERROR, "kiln_optimizer_step", "");
  CHECK(kiln_module_forward(model, x, &y) == KILN_OK);
  CHECK(kiln_loss("mse", y, target, nullptr, 0, &loss) == KILN_OK);
  double value = 0;
  CHECK(kiln_item(loss, &value) == KILN_OK);
  CHECK(value == 16);  // (3 - 2 - 5)^2, of which the gradient is -8 (3, 2)
  CHECK(kiln_backward(loss, {}, 0) == KILN_OK);
  CHECK(kiln_optimizer_step(sgd) == KILN_OK);
  CHECK(values_of(weight) == std::vector<double>{4, 1});
  CHECK(kiln_optimizer_zero_grad(sgd) == KILN_OK);
  CHECK(kiln_optimizer_set_lr(sgd, 0.5) == KILN_OK);
  CHECK(kiln_optimizer_lr(sgd, &value) == KILN_OK);
  CHECK(value == 0.5);
  failed(kiln_optimizer_set_lr(sgd, -1), KILN_VALUE_ERROR, "kiln_optimizer_set_lr", "");
  kiln_tensor by_hand{};
  CHECK(kiln_linear(x, weight, {}, &by_hand) == KILN_OK);
  CHECK(values_of(by_hand) == std::vector<double>{14});
  CHECK(kiln_optimizer_free(sgd) == KILN_OK);
  CHECK(kiln_module_free(model) == KILN_OK);
  free_all(weight, y, loss, start, x, target, by_hand);
}

TEST_CASE("c: handles that are null, stale or of another kind are refused") {
  kiln_tensor x = made({1}, {1}), y{7};
  const kiln_tensor old = x;
  free_all(x);
  double value = 0;
  failed(kiln_item(old, &value), KILN_HANDLE_ERROR, "kiln_item", "stale");
  failed(kiln_tensor_free(old), KILN_HANDLE_ERROR, "kiln_tensor_free", "stale");
  x = made({1}, {2});  // the same slot
  CHECK(x.id != old.id);
  failed(kiln_item(old, &value), KILN_HANDLE_ERROR, "kiln_item", "stale");
  failed(kiln_item({}, &value), KILN_HANDLE_ERROR, "kiln_item", "null");
  failed(kiln_item({12345}, &value), KILN_HANDLE_ERROR, "kiln_item", "no tensor");
  failed(kiln_item({~std::uint64_t{0}}, &value), KILN_HANDLE_ERROR, "kiln_item", "no tensor");
  failed(kiln_item({x.id + 1000}, &value), KILN_HANDLE_ERROR, "kiln_item", "stale");
  failed(kiln_module_forward({x.id}, x, &y), KILN_HANDLE_ERROR, "kiln_module_forward", "no module");
  CHECK(y.id == 0);
  failed(kiln_optimizer_step({}), KILN_HANDLE_ERROR, "kiln_optimizer_step", "null");
  const kiln_tensor operands[] = {x, old};
  failed(kiln_call("add", operands, 2, &y), KILN_HANDLE_ERROR, "kiln_call", "stale");
  failed(kiln_linear(x, {}, {}, &y), KILN_HANDLE_ERROR, "kiln_linear", "null");
  kiln_tensor other{};
  CHECK(kiln_tensor_share(x, &other) == KILN_OK);
  free_all(x);
  CHECK(values_of(other) == std::vector<double>{2});
  free_all(other);
}

TEST_CASE("c: pointers, counts, sizes, types and texts are looked at") {
  const kiln_tensor x = made({2, 3}, {1, 2, 3, 4, 5, 6});
  kiln_tensor y{};
  const double data[6] = {};
  const std::int64_t two[] = {2, 3}, negative[] = {2, -1}, huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  const auto host = [&](kiln_dtype type, const std::int64_t* sizes, std::int32_t n, const void* from,
                        std::size_t bytes) { return kiln_from_host(type, sizes, n, from, bytes, &y); };
  failed(kiln_from_host(KILN_FLOAT64, two, 2, data, 48, nullptr), KILN_VALUE_ERROR, "kiln_from_host", "null");
  failed(host(KILN_FLOAT64, two, 2, nullptr, 48), KILN_VALUE_ERROR, "kiln_from_host", "no memory");
  failed(host(KILN_FLOAT64, nullptr, 2, data, 48), KILN_VALUE_ERROR, "kiln_from_host", "null");
  failed(host(KILN_FLOAT64, two, -1, data, 48), KILN_VALUE_ERROR, "kiln_from_host", "-1");
  failed(host(KILN_FLOAT64, two, 2, data, 47), KILN_SHAPE_ERROR, "kiln_from_host", "47");
  failed(host(KILN_FLOAT32, two, 2, data, 48), KILN_SHAPE_ERROR, "kiln_from_host", "48");
  failed(host(KILN_FLOAT64, negative, 2, data, 48), KILN_SHAPE_ERROR, "kiln_from_host", "-1");
  failed(host(KILN_FLOAT64, huge, 2, data, 0), KILN_SHAPE_ERROR, "kiln_from_host", "");
  failed(host(10, two, 2, data, 48), KILN_DTYPE_ERROR, "kiln_from_host", "10");
  failed(host(-1, two, 2, data, 48), KILN_DTYPE_ERROR, "kiln_from_host", "-1");
  const std::vector<std::int64_t> many(100, 1);
  failed(kiln_zeros(KILN_INT8, many.data(), 100, &y), KILN_SHAPE_ERROR, "kiln_zeros", "");
  failed(kiln_ones(KILN_INT8, huge, 1, &y), KILN_MEMORY_ERROR, "kiln_ones", "");
  failed(kiln_full(KILN_INT8, two, 2, 300, &y), KILN_VALUE_ERROR, "kiln_full", "300");
  failed(kiln_arange(KILN_INT32, 0, 3, 0, &y), KILN_VALUE_ERROR, "kiln_arange", "");
  failed(kiln_arange(KILN_FLOAT32, 0, std::numeric_limits<double>::quiet_NaN(), 1, &y), KILN_VALUE_ERROR, "kiln_arange",
         "");
  failed(kiln_randn(KILN_INT32, two, 2, &y), KILN_DTYPE_ERROR, "kiln_randn", "");
  failed(kiln_scalar_int(2, KILN_BOOL, &y), KILN_VALUE_ERROR, "kiln_scalar_int", "");
  double out[6];
  failed(kiln_to_host(x, out, 40), KILN_SHAPE_ERROR, "kiln_to_host", "40");
  failed(kiln_to_host(x, nullptr, 48), KILN_VALUE_ERROR, "kiln_to_host", "null");
  failed(kiln_tensor_sizes(x, nullptr, 2), KILN_VALUE_ERROR, "kiln_tensor_sizes", "null");
  failed(kiln_tensor_sizes(x, nullptr, 1), KILN_SHAPE_ERROR, "kiln_tensor_sizes", "room");
  failed(kiln_item(x, out), KILN_SHAPE_ERROR, "kiln_item", "6");
  failed(kiln_item(x, nullptr), KILN_VALUE_ERROR, "kiln_item", "null");

  failed(kiln_call(nullptr, &x, 1, &y), KILN_VALUE_ERROR, "kiln_call", "null");
  failed(kiln_call("nothing", &x, 1, &y), KILN_VALUE_ERROR, "kiln_call", "nothing");
  failed(kiln_call("add", &x, 1, &y), KILN_VALUE_ERROR, "kiln_call", "1");
  failed(kiln_call("exp", nullptr, 1, &y), KILN_VALUE_ERROR, "kiln_call", "null");
  for (const char* text : {"\xff", "\xc3", "\xc0\x80", "a\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"})
    failed(kiln_call(text, &x, 1, &y), KILN_VALUE_ERROR, "kiln_call", "UTF-8");
  failed(kiln_call("\xc3\xa9", &x, 1, &y), KILN_VALUE_ERROR, "kiln_call", "\xc3\xa9");
  const std::int64_t axes[] = {0, 0}, far = 2;
  failed(kiln_reduce("sum", x, axes, 2, 0, &y), KILN_VALUE_ERROR, "kiln_reduce", "");
  failed(kiln_reduce("sum", x, &far, 1, 0, &y), KILN_INDEX_ERROR, "kiln_reduce", "");
  failed(kiln_matmul(x, x, &y), KILN_SHAPE_ERROR, "kiln_matmul", "");
  failed(kiln_cat(nullptr, 0, 0, &y), KILN_VALUE_ERROR, "kiln_cat", "");
  failed(kiln_narrow(x, 0, 1, 2, &y), KILN_INDEX_ERROR, "kiln_narrow", "");
  failed(kiln_argmax(x, 5, 0, &y), KILN_INDEX_ERROR, "kiln_argmax", "");
  failed(kiln_set_requires_grad({}, 1), KILN_HANDLE_ERROR, "kiln_set_requires_grad", "null");

  kiln_module m{};
  const auto with = [&](kiln_option option) { return kiln_module_create("ReLU", &option, 1, &m); };
  failed(with({nullptr, 0, 0, 0, 0, nullptr, nullptr}), KILN_VALUE_ERROR, "kiln_module_create", "null");
  failed(with({"a\xff", 0, 0, 0, 0, nullptr, nullptr}), KILN_VALUE_ERROR, "kiln_module_create", "UTF-8");
  failed(with({"a", 9, 0, 0, 0, nullptr, nullptr}), KILN_VALUE_ERROR, "kiln_module_create", "kind");
  failed(with({"a", KILN_OPTION_BOOL, 0, 2, 0, nullptr, nullptr}), KILN_VALUE_ERROR, "kiln_module_create", "0 or 1");
  failed(with({"a", KILN_OPTION_TEXT, 0, 0, 0, nullptr, nullptr}), KILN_VALUE_ERROR, "kiln_module_create", "null");
  failed(with({"a", KILN_OPTION_INTS, 1, 0, 0, nullptr, nullptr}), KILN_VALUE_ERROR, "kiln_module_create", "null");
  failed(with({"a", KILN_OPTION_INT, 0, 0, 0, nullptr, nullptr}), KILN_VALUE_ERROR, "kiln_module_create", "option");
  failed(kiln_module_create("Nothing", nullptr, 0, &m), KILN_VALUE_ERROR, "kiln_module_create", "Nothing");
  kiln_optimizer o{};
  failed(kiln_optimizer_create("SGD", nullptr, 0, nullptr, 0, &o), KILN_VALUE_ERROR, "kiln_optimizer_create", "one");
  failed(kiln_optimizer_create("SGD", &x, 1, nullptr, 0, &o), KILN_VALUE_ERROR, "kiln_optimizer_create", "leaf");
  failed(kiln_loss("nothing", x, x, nullptr, 0, &y), KILN_VALUE_ERROR, "kiln_loss", "nothing");
  free_all(x);
}

TEST_CASE("c: the last error is each thread's own") {
  double value = 0;
  failed(kiln_item({}, &value), KILN_HANDLE_ERROR, "kiln_item", "null");
  std::string there = "unset";
  std::thread([&] { there = kiln_last_error(); }).join();
  CHECK(there.empty());
  CHECK(std::string(kiln_last_error()).starts_with("kiln_item"));
}

TEST_CASE("c: handles are made and freed on several threads") {
  const std::int64_t before = kiln_live_handles();
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([] {
      for (int i = 0; i < 500; ++i) {
        kiln_tensor x{};
        double value = 0;
        if (kiln_full(KILN_FLOAT32, nullptr, 0, i, &x) || kiln_item(x, &value) || value != i || kiln_tensor_free(x))
          return static_cast<void>(kiln_zeros(KILN_FLOAT32, nullptr, 0, &x));  // is seen in the count
      }
    });
  for (std::thread& each : all) each.join();
  CHECK(kiln_live_handles() == before);
}

TEST_CASE("c: children of a program whose threads make and free handles use their own") {
  std::atomic<bool> over{false};
  std::vector<std::thread> busy;
  const std::int64_t one = 1;
  const auto once = [one] {
    kiln_tensor x{};
    std::int64_t n = 0;
    return kiln_zeros(KILN_FLOAT32, &one, 1, &x) == KILN_OK && kiln_tensor_numel(x, &n) == KILN_OK && n == 1 &&
           kiln_tensor_free(x) == KILN_OK;
  };
  for (int t = 0; t < 3; ++t)
    busy.emplace_back([&] {
      while (!over) once();
    });
  int wrong = 0;
  for (int i = 0; i < 100; ++i) wrong += kiln::support::run_in_child([&] { return once() ? 0 : 1; }) != 0;
  over = true;
  for (std::thread& t : busy) t.join();
  CHECK(wrong == 0);
}
