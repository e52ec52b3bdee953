// SPDX-License-Identifier: BSL-1.0
// An example for each public function: the lines after its name. tools/reference.py puts them into the reference, and a
// test compiles this file. x, y and v are tensors of float (v 1-D), m and n matrices, i and k of whole numbers, c of
// bool.
#include <kiln/kiln.hpp>

#include <iostream>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

using namespace kiln;

namespace {

Tensor<float> x, y, v, m, n;
Tensor<std::int64_t> i, k;
Tensor<bool> c;

void making() {
  // Tensor
  Tensor<float> matrix{{1, 2}, {3, 4}};
  Tensor copy = matrix * 2;  // Tensor<float>

  // zeros ones
  auto z = zeros({2, 3});
  auto ones_of_int = ones<int>(2, 3);

  // empty
  auto memory = empty<double>({2, 3});

  // full
  auto sevens = full({2, 3}, 7.0f);

  // empty_like full_like zeros_like ones_like
  auto space = empty_like(x);
  auto halves = full_like(x, 0.5);
  auto nothing = zeros_like(x), everything = ones_like(x);

  // eye
  auto identity = eye(3);

  // arange
  auto numbers = arange(10);  // 0 1 ... 9, of int64
  auto tenths = arange(0.0f, 1.0f, 0.1f);

  // linspace
  auto grid = linspace(-1, 1, 101);  // both ends are there

  // tensor
  std::vector<float> values{1, 2, 3, 4};
  auto row = tensor(values);
  auto square_of_them = tensor(values, {2, 2});

  // from_blob
  std::vector<float> mine(6);
  auto seen = from_blob(mine.data(), {2, 3});  // no copy: `mine` must outlive it

  // cat
  auto longer = cat({x, y}, 0);

  // stack
  auto layers = stack({x, y});

  // one_hot
  auto targets = one_hot<float>(i, 10);

  // diag
  auto diagonal_matrix = diag(Tensor<float>{1, 2});
}

void random_numbers() {
  // rand randn
  auto uniform = rand({2, 3});
  auto noise = randn<double>(2, 3);

  // randint
  auto dice = randint(1, 7, {100});

  // randperm
  auto order = randperm(10);

  // rand_like randn_like randint_like
  auto noisy = x + 0.1f * randn_like(x) + rand_like(x);
  auto labels = randint_like(i, 0, 10);

  // bernoulli
  auto flips = bernoulli(full({10}, 0.5f));

  // normal
  auto scattered = normal(x, 0.1f);

  // dropout
  auto thinner = dropout(x, 0.5);

  // manual_seed
  manual_seed(1);

  // set_state
  const auto here = default_generator().state();
  auto noise_once = randn({3});
  default_generator().set_state(here);  // the same numbers again

  // seek
  default_generator().seek(0);  // from the beginning of its seed's numbers

  // default_generator position
  auto drawn_so_far = default_generator().position();

  // set_state
  const random_stream before = default_generator().state();
  auto once = rand({2});
  default_generator().set_state(before);
  auto again = rand({2});  // the same numbers
}

void asking() {
  // sizes shape
  dims sizes = x.sizes();
  std::cout << x.shape();  // [2, 3]

  // dim
  int axes_of_x = x.dim();

  // size
  std::int64_t columns = x.size(-1);

  // numel
  std::int64_t elements = (x * y).numel();  // nothing is computed

  // dtype
  std::cout << name(x.dtype());  // float32

  // item
  float total = sum(x).item();

  // operator()
  float element = x(0, -1);
  x(0, 0) = 5;

  // data span
  float* first = x.data();
  for (float value : x.span()) std::cout << value;

  // strides is_contiguous contiguous_layout
  bool gaps = !transpose(m).is_contiguous();

  // contiguous
  auto rows_in_order = transpose(m).contiguous();

  // defined
  bool has_value = x.defined();

  // device to
  auto here = x.to(Cpu{});

  // to_string
  std::string text = to_string(x);

  // formula tape_listing gradient_listing
  std::cout << formula(relu(x * y)) << tape_listing(relu(x * y)) << gradient_listing(relu(x * y));

  // equal
  if (equal(x, y)) std::cout << "the same";

  // allclose
  if (allclose(x, y, 1e-4)) std::cout << "nearly the same";

  // isclose
  auto near = isclose(x, y, 1e-4, 1e-6);  // one bool per element

  // name size_of is_floating promote compute_type
  static_assert(promote(dtype::int64, dtype::float16) == dtype::float16);
  std::cout << name(dtype::int64) << size_of(dtype::int64) << is_floating(compute_type(dtype::float16));

  // message
  throw value_error(message("a shape of ", x.shape(), " is not what was expected"));
}

void changing() {
  // operator+= operator-= operator*= operator/=
  x += y;
  x *= 0.5f;

  // copy_
  x.slice(0, 0, 2).copy_(y);

  // fill_ zero_
  x.fill_(3);

  // with_gradient
  Tensor<float> rounded = with_gradient("round", round(x), std::tie(x), [](const auto& g) { return g; });
  Tensor<float> cubes = with_gradient("cube", x * x * x, std::tie(x), std::tie(x),
                                      [](const auto& g, const auto& a) { return 3 * square(a) * g; });

  // assign
  assign(std::tie(x, y), y, x);  // both read the old values

  // clone
  auto own = x.clone();

  // eval
  auto values = (x * y).eval();  // a tensor, whatever is done to x later

  // cast
  auto doubles = cast<double>(x);
}

void views() {
  // reshape view
  auto column = x.reshape({-1, 1});
  auto table = reshape(x, 2, 3);

  // flatten
  auto flat = x.flatten();

  // transpose t
  auto turned = transpose(m);
  auto swapped = x.transpose(0, 1);

  // swapaxes
  auto exchanged = swapaxes(x, 0, -1);

  // permute
  auto channels_last = x.permute({0, 2, 3, 1});

  // movedim
  auto batch_first = movedim(x, 1, 0);

  // squeeze unsqueeze
  auto row = x.unsqueeze(0);
  auto back = row.squeeze(0);

  // expand broadcast_to
  auto repeated = v.unsqueeze(0).expand({5, -1});

  // begin end
  for (auto each : x) each += 1;  // the views x[0], x[1] ...

  // slice
  auto every_second = x.slice(0, 0, to_end, 2);

  // narrow
  auto middle = x.narrow(0, 1, 2);

  // select
  auto first_row = x.select(0, 0);

  // operator[]
  auto second_row = x[1];
  x[{slice(), 0}] = 5;  // in place
  auto positives = x[x > 0];
  x[x < 0] = 0;  // in place

  // flip
  auto mirrored = flip(x, 1);  // the last column comes first

  // roll
  auto moved_on = roll(x, 1, 0);  // the last row comes first

  // repeat tile
  auto four = repeat(x, {2, 2}), row_of_three = tile(v, 3);

  // repeat_interleave
  auto doubled = repeat_interleave(x, 2, 0);  // each row twice

  // meshgrid
  auto [first, second] = meshgrid(v, v);  // first(i, j) is v(i), second(i, j) is v(j)

  // unbind
  std::vector<Tensor<float>> rows = unbind(x);

  // split chunk
  std::vector<Tensor<float>> pieces = split(x, 2), halves = chunk(x, 2);

  // diagonal
  auto trace = sum(diagonal(m));
}

void elements_by_index() {
  // index_select
  auto rows = index_select(x, 0, i);

  // gather
  auto of_each_row = gather(m, 1, i.unsqueeze(1));

  // scatter scatter_add
  auto histogram = scatter_add(zeros({10}), 0, i, ones({i.numel()}));

  // index_add
  auto sums = index_add(m, 0, i, n);

  // where
  auto positive = where(x > 0, x, 0);

  // masked_fill
  auto clipped = masked_fill(x, x > 1, 1.0f);

  // masked_select
  auto chosen = masked_select(x, x > 0);

  // nonzero
  auto positions = nonzero(x > 0);

  // tril triu
  auto lower = tril(m);
  auto above_the_diagonal = triu(m, 1);
}

void arithmetic_of_elements() {
  // operator+ operator- operator* operator/
  Tensor<float> result = 2 * x + y / x - 1;

  // square sqrt rsqrt reciprocal
  auto length = sqrt(square(x) + square(y));
  auto inverse = reciprocal(x) * rsqrt(x);

  // abs sign
  auto distance = abs(x - y) * sign(x);

  // pow
  auto cubes = pow(x, 3);

  // hypot
  auto hypotenuse = hypot(x, y);

  // fmod remainder operator%
  auto angle = remainder(x, 6.2831853f) + x % 6.2831853f;

  // minimum maximum
  auto larger = maximum(x, y), at_least_0 = maximum(x, y);

  // clamp
  auto between = clamp(x, 0.0f, 1.0f);

  // lerp
  auto halfway = lerp(x, y, 0.5f);

  // floor ceil round trunc
  auto whole = floor(x) + ceil(x) + round(x) + trunc(x);

  // exp exp2 expm1
  auto growth = exp(x) + exp2(x) + expm1(x);

  // log log2 log10 log1p
  auto bits = log(x) + log2(x) + log10(x) + log1p(x);

  // sin cos tan
  auto wave = sin(x) * cos(x) + tan(x);

  // asin acos atan atan2
  auto direction = atan2(y, x);

  // sinh cosh tanh
  auto bounded = tanh(x);

  // asinh acosh atanh
  auto unbounded = asinh(x);

  // erf erfc
  auto below = 0.5f * erfc(-x / std::sqrt(2.0f));

  // gaussian ndtr
  auto density = gaussian(x) / std::sqrt(2 * std::numbers::pi_v<float>);
  auto share = ndtr(x);

  // lgamma digamma polygamma
  auto log_factorial = lgamma(x + 1);
}

void truth() {
  // operator== operator!= operator< operator<= operator> operator>=
  Tensor<bool> inside = (x >= 0) & (x < 1);
  bool same = all(x == y).item();

  // logical_and logical_or logical_xor logical_not
  auto both = logical_and(x > 0, y > 0);

  // operator& operator| operator^ operator~ operator!
  auto either = (x > 0) | !(y > 0);
  auto low_bits = i & 0xff;

  // operator<< operator>>
  auto doubled = i << 1;
  std::cout << x;  // prints

  // operator&& operator||
  auto instead_of_both = (x > 0) & (y > 0);  // && is refused

  // isnan isinf isfinite
  auto good = isfinite(x);
}

void activations() {
  // relu leaky_relu relu6
  auto h = relu(x);

  // sigmoid logsigmoid hardsigmoid
  auto probability = sigmoid(x);

  // silu gelu gelu_tanh mish hardswish
  auto smooth = gelu(x);

  // elu celu selu
  auto negative_too = elu(x);

  // softplus softsign tanhshrink hardtanh
  auto positive = softplus(x);

  // softshrink hardshrink threshold
  auto sparse = softshrink(x, 0.5);
}

void reductions() {
  // sum
  auto total = sum(x);
  auto of_rows = sum(m, 1);
  auto kept = sum(m, {0, 1}, true);

  // prod
  auto product_of_all = prod(x);

  // mean
  auto centred = x - mean(x);

  // max min
  auto largest_of_rows = max(m, 1);

  // argmax argmin
  auto classes = argmax(m, 1);

  // cumsum
  auto total_so_far = cumsum(v, 0);

  // cumprod
  auto growth_of_rows = cumprod(1 + m, 1);

  // sort
  auto [in_order, from_where] = sort(m, 1);
  auto descending = sort(v, 0, true).values;

  // argsort
  auto ranking = argsort(v);

  // topk
  auto [best, their_classes] = topk(m, 5, 1);
  auto smallest = topk(v, 3, 0, false).values;

  // kthvalue
  auto second_of_rows = kthvalue(m, 2, 1).values;

  // median
  auto middle_of_rows = median(m, 1).values;
  auto middle_of_all = median(x);

  // any all
  if (any(x < 0).item()) std::cout << "some are negative";

  // count_nonzero
  auto hits = count_nonzero(x > 0);

  // var stddev std
  auto spread = stddev(m, 0);  // std is ambiguous where both namespaces are used

  // norm
  auto length = norm(v);

  // logsumexp
  auto partition = logsumexp(m, 1);

  // softmax log_softmax
  auto probabilities = softmax(m, 1);

  // layer_norm rms_norm
  auto normalised = layer_norm(m);
}

void products() {
  // matmul
  Tensor<float> layer = relu(matmul(m, n) + v);

  // dot
  float inner = dot(v, v).item();

  // einsum
  auto traces = einsum("bii->b", randn({5, 3, 3}));
  auto scores = einsum("bqd,bkd->bqk", randn({2, 4, 8}), randn({2, 6, 8}));  // each query with each key

  // outer
  auto table = outer(v, v);
}

void images() {
  Tensor<float> weight, bias;
  // conv2d
  auto filtered = conv2d(x, weight, bias);

  // max_pool2d avg_pool2d
  auto smaller = max_pool2d(x, {2, 2});

  // batch_norm
  Tensor<float> mean_so_far = zeros({3}), variance_so_far = ones({3});
  auto normalised = batch_norm(x, mean_so_far, variance_so_far, weight, bias, {.training = true});
}

void gradients() {
  // requires_grad grad zero_grad
  Tensor<float> w = randn({3, 1});
  w.requires_grad();
  backward(mean(square(matmul(m, w))));
  w -= 0.1f * w.grad();
  w.zero_grad();

  // backward
  Tensor<float> loss = mean(square(x - y));
  loss.backward();

  // on_gradient
  auto hook = w.on_gradient([](const Tensor<float>& g) { return clamp(g, -1.0f, 1.0f); });

  // checkpoint
  Tensor<float> cheap = checkpoint([](const auto& a) { return sin(a) * a; }, x);

  // with_gradient
  Tensor<float> rounded = with_gradient("round", round(x), std::tie(x), [](const auto& g) { return g; });
  Tensor<float> cubes = with_gradient("cube", x * x * x, std::tie(x), std::tie(x),
                                      [](const auto& g, const auto& a) { return 3 * square(a) * g; });

  // assign
  assign(std::tie(x, y), x + y, x - y);  // both from the old values

  // needs_grad has_grad
  bool differentiable = w.needs_grad() && !w.has_grad();

  // on_gradient
  auto logits = matmul(m, w).eval();
  logits.on_gradient([](const auto& gradient) { std::cout << max(abs(gradient)); });

  // checkpoint
  auto deep = checkpoint([](const auto& h) { return tanh(exp(h)); }, w);  // keeps w alone

  // detach stop_gradient
  auto constant = x.detach();
  auto not_through_here = x * stop_gradient(y);

  // check_gradient
  bool right = check_gradient([](auto a) { return sum(a * a); }, randn<double>({3})).agrees;
}

}  // namespace

int main() {
  making(), random_numbers(), asking(), changing(), views(), elements_by_index(), arithmetic_of_elements(), truth();
  activations(), reductions(), products(), images(), gradients();
}
