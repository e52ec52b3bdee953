// SPDX-License-Identifier: BSL-1.0
// What the stand-in for cuDNN's backend API knows of a graph: tensors and operations read out of finalized descriptors,
// whether they fit each other, and what they compute, in double by plain loops.
#pragma once

#include <kiln/device/cuda/cudnn/backend.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "stand_in_cudnn.hpp"

namespace kiln::cuda::stand_in {

struct graph_tensor_info {
  std::int64_t id = 0;
  cudnn_type type{};
  std::vector<std::int64_t> sizes, strides;
  bool is_virtual = false, by_value = false;
  bool operator==(const graph_tensor_info&) const = default;

  std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t s : sizes) n *= s;
    return n;
  }
  /// Elements from the first to behind the last.
  std::int64_t extent() const {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
    return last + 1;
  }
  bool is_half() const { return type == cudnn_type::float16 || type == cudnn_type::bfloat16; }
  /// Whether each size is that of another tensor or 1.
  bool broadcasts_to(const graph_tensor_info& other) const {
    if (sizes.size() != other.sizes.size()) return false;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] != other.sizes[i] && sizes[i] != 1) return false;
    return true;
  }
};

struct graph_operation {
  backend_kind kind{};
  std::map<backend_attribute, std::int64_t> tensors;  // attribute to id
  backend_pointwise mode{};
  backend_reduction reduction{};
  int axis = -1;

  std::int64_t at(backend_attribute which) const {
    const auto found = tensors.find(which);
    return found == tensors.end() ? 0 : found->second;
  }
};

inline bool is_output(backend_attribute a) {
  using b = backend_attribute;
  for (const b out :
       {b::matmul_operation_c, b::pointwise_operation_y, b::reduction_operation_y, b::reshape_operation_y,
        b::norm_forward_y, b::norm_forward_mean, b::norm_forward_inverse, b::norm_forward_new_running_mean,
        b::norm_forward_new_running_variance, b::norm_backward_dx, b::norm_backward_dscale, b::norm_backward_dbias})
    if (a == out) return true;
  return false;
}

/// Values of a tensor in the order of its sizes, as if it were contiguous.
using graph_values = std::vector<double>;

class graph_run {
 public:
  graph_run(const std::map<std::int64_t, graph_tensor_info>& tensors, const std::map<std::int64_t, void*>& memory)
      : tensors_(tensors), memory_(memory) {}

  void run(const graph_operation& o) {
    using a = backend_attribute;
    switch (o.kind) {
      case backend_kind::matmul_operation:
        return matmul(o.at(a::matmul_operation_a), o.at(a::matmul_operation_b), o.at(a::matmul_operation_c));
      case backend_kind::pointwise_operation:
        return pointwise(o);
      case backend_kind::reduction_operation:
        return reduce(o);
      case backend_kind::reshape_operation:
        return reshape(o.at(a::reshape_operation_x), o.at(a::reshape_operation_y));
      case backend_kind::norm_forward_operation:
        return norm(o);
      case backend_kind::norm_backward_operation:
        return norm_backward(o);
      default:
        return;
    }
  }

 private:
  const graph_tensor_info& info(std::int64_t id) const { return tensors_.at(id); }

  // Calls f(number in order, offset by strides) for each element.
  static void each(const graph_tensor_info& t, const std::function<void(std::int64_t, std::int64_t)>& f) {
    std::vector<std::int64_t> at(t.sizes.size(), 0);
    std::int64_t offset = 0;
    for (std::int64_t n = 0; n < t.count(); ++n) {
      f(n, offset);
      for (std::size_t i = at.size(); i-- > 0;) {
        offset += t.strides[i];
        if (++at[i] < t.sizes[i]) break;
        offset -= t.sizes[i] * t.strides[i];
        at[i] = 0;
      }
    }
  }
  const graph_values& read(std::int64_t id) {
    if (const auto found = values_.find(id); found != values_.end()) return found->second;
    graph_values out(static_cast<std::size_t>(info(id).count()));
    each(info(id), [&](std::int64_t n, std::int64_t offset) {
      out[static_cast<std::size_t>(n)] = load(info(id).type, memory_.at(id), offset);
    });
    return values_[id] = std::move(out);
  }
  // Rounds to the tensor's type, and stores in memory if it is not virtual.
  void write(std::int64_t id, graph_values made) {
    const graph_tensor_info& t = info(id);
    if (t.type == cudnn_type::float32 || t.is_half())
      for (double& v : made) {
        double rounded = 0;
        store(t.type, &rounded, 0, v);
        v = load(t.type, &rounded, 0);
      }
    if (!t.is_virtual)
      each(t, [&](std::int64_t n, std::int64_t offset) {
        store(t.type, memory_.at(id), offset, made[static_cast<std::size_t>(n)]);
      });
    values_[id] = std::move(made);
  }
  // The element of a tensor that is broadcast to `to`, for the n-th element of that.
  static std::int64_t broadcast(const graph_tensor_info& from, const graph_tensor_info& to, std::int64_t n) {
    std::int64_t at = 0, step = 1;
    for (std::size_t i = to.sizes.size(); i-- > 0;) {
      const std::int64_t index = n % to.sizes[i];
      n /= to.sizes[i];
      if (from.sizes[i] != 1) at += index * step;
      step *= from.sizes[i];
    }
    return at;
  }

  void matmul(std::int64_t a, std::int64_t b, std::int64_t c) {
    const graph_values &left = read(a), &right = read(b);
    const auto& of = info(c);
    const std::size_t rank = of.sizes.size();
    const std::int64_t m = of.sizes[rank - 2], n = of.sizes[rank - 1], k = info(a).sizes[rank - 1];
    graph_values out(static_cast<std::size_t>(of.count()));
    for (std::int64_t batch = 0; batch < of.count() / (m * n); ++batch)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t l = 0; l < k; ++l)
            sum += left[static_cast<std::size_t>((batch * m + i) * k + l)] *
                   right[static_cast<std::size_t>((batch * k + l) * n + j)];
          out[static_cast<std::size_t>((batch * m + i) * n + j)] = sum;
        }
    write(c, std::move(out));
  }
  void pointwise(const graph_operation& o) {
    using p = backend_pointwise;
    const std::int64_t x = o.at(backend_attribute::pointwise_operation_x),
                       y = o.at(backend_attribute::pointwise_operation_y),
                       b = o.at(backend_attribute::pointwise_operation_b),
                       t = o.at(backend_attribute::pointwise_operation_t);
    const auto& of = info(y);
    graph_values out(static_cast<std::size_t>(of.count()));
    for (std::int64_t n = 0; n < of.count(); ++n) {
      const auto value = [&](std::int64_t id) {
        return read(id)[static_cast<std::size_t>(broadcast(info(id), of, n))];
      };
      double& to = out[static_cast<std::size_t>(n)];
      switch (o.mode) {
        case p::add:
          to = value(x) + value(b);
          break;
        case p::multiply:
          to = value(x) * value(b);
          break;
        case p::divide:
          to = value(x) / value(b);
          break;
        case p::subtract:
          to = value(x) - value(b);
          break;
        case p::exponential:
          to = std::exp(value(x));
          break;
        case p::logarithm:
          to = std::log(value(x));
          break;
        case p::identity:
          to = value(x);
          break;
        case p::greater_or_equal:
          to = value(x) >= value(b) ? 1 : 0;
          break;
        case p::select:
          to = value(t) != 0 ? value(x) : value(b);
          break;
        case p::index: {
          std::int64_t left = n;
          for (std::size_t i = of.sizes.size(); i-- > static_cast<std::size_t>(o.axis) + 1;) left /= of.sizes[i];
          to = static_cast<double>(left % of.sizes[static_cast<std::size_t>(o.axis)]);
          break;
        }
      }
    }
    write(y, std::move(out));
  }
  void reduce(const graph_operation& o) {
    const std::int64_t x = o.at(backend_attribute::reduction_operation_x),
                       y = o.at(backend_attribute::reduction_operation_y);
    const bool add = o.reduction == backend_reduction::add;
    graph_values out(static_cast<std::size_t>(info(y).count()), add ? 0 : -INFINITY);
    const graph_values& from = read(x);
    for (std::int64_t n = 0; n < info(x).count(); ++n) {
      double& to = out[static_cast<std::size_t>(broadcast(info(y), info(x), n))];
      const double v = from[static_cast<std::size_t>(n)];
      to = add ? to + v : std::max(to, v);
    }
    write(y, std::move(out));
  }
  // The element that has the same place in memory: the strides say what the reshape is.
  void reshape(std::int64_t x, std::int64_t y) {
    std::map<std::int64_t, double> by_offset;
    const graph_values from = read(x);
    each(info(x), [&](std::int64_t n, std::int64_t offset) { by_offset[offset] = from[static_cast<std::size_t>(n)]; });
    graph_values out(static_cast<std::size_t>(info(y).count()));
    each(info(y),
         [&](std::int64_t n, std::int64_t offset) { out[static_cast<std::size_t>(n)] = by_offset.at(offset); });
    write(y, std::move(out));
  }

  // Calls f(channel, element) for each element of images (batch, channels, ...).
  template <class F>
  void each_of_images(const graph_tensor_info& x, F f) {
    const std::int64_t channels = x.sizes[1], image = x.count() / x.sizes[0] / channels;
    for (std::int64_t n = 0; n < x.count(); ++n)
      f(static_cast<std::size_t>(n / image % channels), static_cast<std::size_t>(n));
  }
  void norm(const graph_operation& o) {
    using a = backend_attribute;
    const auto& of = info(o.at(a::norm_forward_x));
    const graph_values x = read(o.at(a::norm_forward_x)), scale = read(o.at(a::norm_forward_scale)),
                       bias = read(o.at(a::norm_forward_bias));
    const std::size_t channels = scale.size();
    const double count = static_cast<double>(x.size() / channels), epsilon = read(o.at(a::norm_forward_epsilon))[0];
    graph_values mean(channels), variance(channels), inverse(channels), y(x.size());
    each_of_images(of, [&](std::size_t c, std::size_t n) { mean[c] += x[n] / count; });
    each_of_images(of, [&](std::size_t c, std::size_t n) { variance[c] += std::pow(x[n] - mean[c], 2) / count; });
    for (std::size_t c = 0; c < channels; ++c) inverse[c] = 1 / std::sqrt(variance[c] + epsilon);
    each_of_images(of,
                   [&](std::size_t c, std::size_t n) { y[n] = (x[n] - mean[c]) * inverse[c] * scale[c] + bias[c]; });
    if (o.at(a::norm_forward_running_mean) != 0) {
      const double by = read(o.at(a::norm_forward_momentum))[0];
      graph_values new_mean = read(o.at(a::norm_forward_running_mean)),
                   new_variance = read(o.at(a::norm_forward_running_variance));
      for (std::size_t c = 0; c < channels; ++c) {
        new_mean[c] = (1 - by) * new_mean[c] + by * mean[c];
        new_variance[c] = (1 - by) * new_variance[c] + by * variance[c] * count / (count - 1);
      }
      write(o.at(a::norm_forward_new_running_mean), std::move(new_mean));
      write(o.at(a::norm_forward_new_running_variance), std::move(new_variance));
    }
    write(o.at(a::norm_forward_mean), std::move(mean));
    write(o.at(a::norm_forward_inverse), std::move(inverse));
    write(o.at(a::norm_forward_y), std::move(y));
  }
  void norm_backward(const graph_operation& o) {
    using a = backend_attribute;
    const auto& of = info(o.at(a::norm_backward_x));
    const graph_values x = read(o.at(a::norm_backward_x)), dy = read(o.at(a::norm_backward_dy)),
                       scale = read(o.at(a::norm_backward_scale)), mean = read(o.at(a::norm_backward_mean)),
                       inverse = read(o.at(a::norm_backward_inverse));
    const std::size_t channels = scale.size();
    const double count = static_cast<double>(x.size() / channels);
    graph_values dscale(channels), dbias(channels), dx(x.size());
    const auto normalised = [&](std::size_t c, std::size_t n) { return (x[n] - mean[c]) * inverse[c]; };
    each_of_images(of, [&](std::size_t c, std::size_t n) {
      dbias[c] += dy[n];
      dscale[c] += dy[n] * normalised(c, n);
    });
    each_of_images(of, [&](std::size_t c, std::size_t n) {
      dx[n] = scale[c] * inverse[c] * (dy[n] - dbias[c] / count - normalised(c, n) * dscale[c] / count);
    });
    write(o.at(a::norm_backward_dx), std::move(dx));
    write(o.at(a::norm_backward_dscale), std::move(dscale));
    write(o.at(a::norm_backward_dbias), std::move(dbias));
  }

  const std::map<std::int64_t, graph_tensor_info>& tensors_;
  const std::map<std::int64_t, void*>& memory_;
  std::map<std::int64_t, graph_values> values_;
};

/// Whether an operation's tensors fit each other: sizes, types, and for norms layouts, as cuDNN's documentation has it.
inline bool is_sound(const graph_operation& o, const std::map<std::int64_t, graph_tensor_info>& tensors) {
  using a = backend_attribute;
  const auto of = [&](a which) -> const graph_tensor_info& { return tensors.at(o.at(which)); };
  switch (o.kind) {
    case backend_kind::matmul_operation: {
      const auto &x = of(a::matmul_operation_a), &y = of(a::matmul_operation_b), &z = of(a::matmul_operation_c);
      const std::size_t rank = z.sizes.size();
      if (rank < 3 || x.sizes.size() != rank || y.sizes.size() != rank) return false;
      for (std::size_t i = 0; i + 2 < rank; ++i)
        if (x.sizes[i] != z.sizes[i] || y.sizes[i] != z.sizes[i]) return false;
      // The left operand of the gradient of queries is made within the kernel, which rounds it to the right one's type.
      const bool types = y.is_half() && (x.type == y.type || (x.is_virtual && x.type == cudnn_type::float32));
      return types && x.sizes[rank - 2] == z.sizes[rank - 2] && x.sizes[rank - 1] == y.sizes[rank - 2] &&
             y.sizes[rank - 1] == z.sizes[rank - 1];
    }
    case backend_kind::pointwise_operation: {
      const auto& y = of(a::pointwise_operation_y);
      const bool two = o.mode != backend_pointwise::exponential && o.mode != backend_pointwise::logarithm &&
                       o.mode != backend_pointwise::identity && o.mode != backend_pointwise::index;
      const bool three = o.mode == backend_pointwise::select;
      if (two != (o.at(a::pointwise_operation_b) != 0) || three != (o.at(a::pointwise_operation_t) != 0)) return false;
      if ((o.mode == backend_pointwise::index) != (o.axis >= 0) || o.axis >= static_cast<int>(y.sizes.size()))
        return false;
      const bool truth = o.mode == backend_pointwise::greater_or_equal;
      if ((y.type == cudnn_type::boolean) != truth) return false;
      if (three && of(a::pointwise_operation_t).type != cudnn_type::boolean) return false;
      for (const a in : {a::pointwise_operation_x, a::pointwise_operation_b, a::pointwise_operation_t})
        if (o.at(in) != 0 && !of(in).broadcasts_to(y)) return false;
      return true;
    }
    case backend_kind::reduction_operation:
      return of(a::reduction_operation_y).broadcasts_to(of(a::reduction_operation_x));
    case backend_kind::reshape_operation:
      return of(a::reshape_operation_x).count() == of(a::reshape_operation_y).count();
    case backend_kind::norm_forward_operation:
    case backend_kind::norm_backward_operation: {
      const bool forward = o.kind == backend_kind::norm_forward_operation;
      const auto& x = of(forward ? a::norm_forward_x : a::norm_backward_x);
      if (x.sizes.size() < 4 || !x.is_half() || x.strides[1] != 1 || x.sizes[1] % 8 != 0) return false;
      for (const auto& [which, id] : o.tensors) {
        const auto& t = tensors.at(id);
        if (which == a::norm_forward_epsilon || which == a::norm_forward_momentum) {
          if (!t.by_value || t.count() != 1) return false;
        } else if (t.count() == x.count()) {
          if (t.type != x.type || t.sizes != x.sizes || t.strides != x.strides) return false;
        } else if (t.type != cudnn_type::float32 || t.count() != x.sizes[1] || t.sizes[1] != x.sizes[1]) {
          return false;
        }
      }
      // Running statistics come together.
      int running = 0;
      for (const a one : {a::norm_forward_momentum, a::norm_forward_running_mean, a::norm_forward_running_variance,
                          a::norm_forward_new_running_mean, a::norm_forward_new_running_variance})
        running += o.at(one) != 0;
      return running == 0 || running == 5;
    }
    default:
      return false;
  }
}

}  // namespace kiln::cuda::stand_in
