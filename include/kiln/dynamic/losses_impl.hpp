// SPDX-License-Identifier: BSL-1.0
// The definitions of losses.hpp.
#pragma once

#include <kiln/dynamic/losses.hpp>
#include <kiln/dynamic/losses_on.hpp>
#include <kiln/nn/loss/ctc.hpp>

namespace kiln::dynamic {

KILN_INLINE loss_function make_loss(std::string_view name, const options& how) {
  return [on_host = graph::loss_on<Cpu>(name, how), name = std::string(name), how](const tensor& input,
                                                                                   const tensor& target) {
    graph::check_together(name, input, target);
    return input.device().on_host() ? on_host(input, target) : graph::cuda_driver().make_loss(name, how)(input, target);
  };
}

KILN_INLINE tensor ctc_loss(const tensor& log_probabilities, const tensor& targets, const tensor& input_lengths,
                            const tensor& target_lengths, const options& how) {
  option_reader r{"ctc", how};
  const nn::ctc_options options{.blank = r.get<std::int64_t>("blank", 0),
                                .reduction = graph::reduction_of(r),
                                .zero_infinity = r.get<bool>("zero_infinity", false)};
  r.finish();
  const auto whole = [](const tensor& x) {
    if (is_floating(x.type()) || x.type() == dtype::boolean)
      throw dtype_error(message("ctc: labels and lengths of ", name(x.type()), ": convert them with to(dtype::int64)"));
    return x.to(device{}).to(dtype::int64).as<std::int64_t>();
  };
  return with_float_or_double(log_probabilities.type(), "ctc", [&]<class T>(std::type_identity<T>) {
    return tensor(nn::ctc_loss(log_probabilities.to(device{}).as<T>(), whole(targets), whole(input_lengths),
                               whole(target_lengths), options))
        .to(log_probabilities.device());
  });
}

}  // namespace kiln::dynamic
