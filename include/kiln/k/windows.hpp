// SPDX-License-Identifier: BSL-1.0
// Windows of signals, and the frequencies of their transforms, as tensors.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

#include <kiln/k/arguments.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/tensors.hpp>

namespace kiln::k::windows {

/// What a call gives, from the front, before the options of the tensor.
struct request {
  std::vector<object> given;
  tensors::creation_options how;
  std::int64_t length;
};
inline request read(object x, std::size_t most) {
  request asked;
  if (is_list(x) && x->type == mixed_type)
    asked.given.assign(span_of<object>(x).begin(), span_of<object>(x).end());
  else
    asked.given.push_back(x);
  asked.how = tensors::take_options(asked.given, 1);
  if (asked.given.empty() || asked.given.size() > most)
    throw value_error(message("expects 1 to ", most, " arguments before options, given ", asked.given.size()));
  const auto length = read_long(asked.given[0]);
  if (!length) throw value_error(message("argument 1 is a ", describe(asked.given[0]), ", expected a length"));
  if (*length < 0 || *length > (std::int64_t{1} << 40)) throw value_error(message("a length of ", *length));
  asked.length = *length;
  return asked;
}
inline double number(const request& asked, std::size_t i, double otherwise) {
  if (i >= asked.given.size()) return otherwise;
  if (const auto found = read_number(asked.given[i])) return *found;
  throw value_error(message("argument ", i + 1, " is a ", describe(asked.given[i]), ", expected a long or float"));
}
/// The tensor of values f(0), f(1), ... of this length.
template <class F>
object made(const request& asked, std::int64_t length, F f) {
  const tensor values = written(dtype::float64, {length}, [&](void* memory) {
    for (std::int64_t i = 0; i < length; ++i) static_cast<double*>(memory)[i] = f(static_cast<double>(i));
  });
  return tensors::made(values.to(asked.how.options.type.value_or(session().default_type)), asked.how);
}

/// (length[;periodic][;numbers...][;options]): a periodic window leaves out the last of a symmetric one that is longer
/// by one. Oppenheim and Schafer, Discrete-Time Signal Processing, 7.2.
inline object window(std::string_view name, object x) {
  const request asked = read(x, name == "hamming" ? 4 : name == "kaiser" ? 3 : 2);
  bool periodic = true;
  if (asked.given.size() > 1) {
    const auto flag = read_flag(asked.given[1]);
    if (!flag) throw value_error(message("argument 2 is a ", describe(asked.given[1]), ", expected a boolean"));
    periodic = *flag;
  }
  if (asked.length == 1) return made(asked, 1, [](double) { return 1.0; });
  const double end = static_cast<double>(periodic ? asked.length : asked.length - 1);
  const auto cosine = [end](double i, double times) { return std::cos(2 * std::numbers::pi * times * i / end); };
  if (name == "bartlett") return made(asked, asked.length, [=](double i) { return 1 - std::abs(2 * i / end - 1); });
  if (name == "blackman")
    return made(asked, asked.length, [=](double i) { return 0.42 - 0.5 * cosine(i, 1) + 0.08 * cosine(i, 2); });
  if (name == "hann") return made(asked, asked.length, [=](double i) { return 0.5 - 0.5 * cosine(i, 1); });
  if (name == "hamming") {
    const double alpha = number(asked, 2, 0.54), beta = number(asked, 3, 0.46);
    return made(asked, asked.length, [=](double i) { return alpha - beta * cosine(i, 1); });
  }
  const double beta = number(asked, 2, 12);
  if (!(std::abs(beta) <= 700)) throw value_error(message("a shape of ", beta, " is not within 700"));
  return made(asked, asked.length, [=](double i) {
    const double t = 2 * i / end - 1;
    return std::cyl_bessel_i(0.0, std::abs(beta) * std::sqrt(std::max(0.0, 1 - t * t))) /
           std::cyl_bessel_i(0.0, std::abs(beta));
  });
}

/// fftfreq and rfftfreq (length[;spacing][;options]): the frequencies of a transform of that many samples.
inline object frequencies(std::string_view name, object x) {
  const request asked = read(x, 2);
  const double n = static_cast<double>(asked.length), spacing = number(asked, 1, 1);
  if (spacing == 0 || std::isnan(spacing)) throw value_error(message("a spacing of ", spacing));
  if (name == "rfftfreq") return made(asked, asked.length / 2 + 1, [=](double i) { return i / (n * spacing); });
  const double positive = static_cast<double>((asked.length + 1) / 2);
  return made(asked, asked.length, [=](double i) { return (i < positive ? i : i - n) / (n * spacing); });
}

}  // namespace kiln::k::windows

namespace kiln::k {

inline void offer_windows(registry& r) {
  for (std::string_view name : {"bartlett", "blackman", "hann", "hamming", "kaiser"}) r.offer(name, windows::window);
  r.offer("fftfreq", windows::frequencies);
  r.offer("rfftfreq", windows::frequencies);
}

}  // namespace kiln::k
