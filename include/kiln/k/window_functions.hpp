// SPDX-License-Identifier: BSL-1.0
// Layers without parameters that look at windows or at other places of images: unfold and fold, poolings by a norm and
// to a size, interpolation, random crops and flips; and the products and slopes of layers as functions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/images.hpp>
#include <kiln/dynamic/indexing.hpp>
#include <kiln/dynamic/operators.hpp>
#include <kiln/dynamic/products.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/layer_functions.hpp>
#include <kiln/k/norms.hpp>
#include <kiln/k/random.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/nn/layers/upsample.hpp>

namespace kiln::k::windows_of {

using layer_functions::flag_of;
using layer_functions::layer_function;
using layer_functions::options_behind;
using layer_functions::pair_of;

/// What a window is and how it moves.
struct window {
  pair2d size = 0, dilate = 1, pad = 0, stride = 1, out = 0;
};
inline window read_window(const std::vector<option>& options) {
  window w;
  for (const option& each : options) {
    const bool known = each.name == "size" || each.name == "dilate" || each.name == "pad" || each.name == "stride" ||
                       each.name == "out";
    if (!known) throw value_error(message("unrecognized option `", each.name));
    (each.name == "size"     ? w.size
     : each.name == "dilate" ? w.dilate
     : each.name == "pad"    ? w.pad
     : each.name == "stride" ? w.stride
                             : w.out) = pair_of(each, false, 1);
  }
  const auto fits = [](pair2d p, std::int64_t least) {
    return p.height >= least && p.width >= least && p.height < (1 << 30) && p.width < (1 << 30);
  };
  if (!fits(w.size, 1) || !fits(w.dilate, 1) || !fits(w.stride, 1) || !fits(w.pad, 0))
    throw value_error("expects a size, a dilation and a stride of 1 or more, and a padding of 0 or more");
  return w;
}
/// How many places a window has along each axis of images of a size; refuses where it has none.
inline pair2d places(const window& w, std::int64_t height, std::int64_t width) {
  const pair2d n{(height + 2 * w.pad.height - w.dilate.height * (w.size.height - 1) - 1) / w.stride.height + 1,
                 (width + 2 * w.pad.width - w.dilate.width * (w.size.width - 1) - 1) / w.stride.width + 1};
  if (height + 2 * w.pad.height < w.dilate.height * (w.size.height - 1) + 1 ||
      width + 2 * w.pad.width < w.dilate.width * (w.size.width - 1) + 1)
    throw shape_error(message("a window of ", w.size, " is larger than the images of ", height, " by ", width));
  return n;
}
/// For each element under the window, row by row, and each of its places: where that is in a padded image.
inline longs positions_under(const window& w, pair2d n, std::int64_t padded_width) {
  longs at;
  for (std::int64_t i = 0; i < w.size.height; ++i)
    for (std::int64_t j = 0; j < w.size.width; ++j)
      for (std::int64_t r = 0; r < n.height; ++r)
        for (std::int64_t c = 0; c < n.width; ++c)
          at.push_back((r * w.stride.height + i * w.dilate.height) * padded_width + c * w.stride.width +
                       j * w.dilate.width);
  return at;
}
inline tensor with_zeros(const tensor& x, std::int64_t axis, std::int64_t n) {
  if (n == 0) return x;
  dims sizes = x.sizes();
  sizes[normalize_axis(axis, x.dim(), "pad")] = n;
  const tensor zero = dynamic::zeros(sizes, x.type(), x.device());
  const tensor parts[] = {zero, x, zero};
  return dynamic::cat(parts, axis);
}

/// (x;size[;dilate;pad;stride]): the elements under each window as a column, of images (batch, channels, height,
/// width).
inline layer_function unfold_of(std::string_view, const std::vector<option>& options) {
  return [w = read_window(options)](const tensor& x, bool) {
    const bool alone = x.dim() == 3;
    if (!alone && x.dim() != 4)
      throw shape_error(message("expects images of 3 or 4 dimensions, given sizes ", x.sizes()));
    tensor value = norms::floating(x);
    if (alone) value = dynamic::unsqueeze(value, 0);
    const pair2d n = places(w, value.size(2), value.size(3));
    value = with_zeros(with_zeros(value, 2, w.pad.height), 3, w.pad.width);
    const dims sizes = value.sizes();
    const tensor flat = dynamic::reshape(value, {sizes[0], sizes[1], sizes[2] * sizes[3]});
    tensor result = dynamic::index_select(flat, 2, index_beside(flat, positions_under(w, n, sizes[3])));
    result = dynamic::reshape(result, {sizes[0], sizes[1] * w.size.area(), n.area()});
    return alone ? dynamic::squeeze(result, 0) : result;
  };
}

/// (x;out;size[;dilate;pad;stride]): columns back in their places in images of a size, added up where they meet.
inline layer_function fold_of(std::string_view, const std::vector<option>& options) {
  const window w = read_window(options);
  if (w.out.height < 1 || w.out.width < 1) throw value_error("expects the size of the images, 1 or more");
  return [w](const tensor& x, bool) {
    const bool alone = x.dim() == 2;
    if (!alone && x.dim() != 3)
      throw shape_error(message("expects columns of 2 or 3 dimensions, given sizes ", x.sizes()));
    tensor value = norms::floating(x);
    if (alone) value = dynamic::unsqueeze(value, 0);
    const pair2d n = places(w, w.out.height, w.out.width);
    const dims sizes = value.sizes();
    if (sizes[1] % w.size.area() != 0 || sizes[2] != n.area())
      throw shape_error(message("columns of sizes ", x.sizes(), " are not those of a window of ", w.size, " in ",
                                n.area(), " places"));
    const std::int64_t channels = sizes[1] / w.size.area(), high = w.out.height + 2 * w.pad.height,
                       wide = w.out.width + 2 * w.pad.width;
    const tensor columns = dynamic::reshape(value, {sizes[0], channels, w.size.area() * n.area()});
    const tensor at = dynamic::expand(
        dynamic::reshape(index_beside(value, positions_under(w, n, wide)), {1, 1, w.size.area() * n.area()}),
        columns.sizes());
    tensor image = dynamic::scatter_add(dynamic::zeros({sizes[0], channels, high * wide}, value.type(), value.device()),
                                        2, at, columns);
    image = dynamic::reshape(image, {sizes[0], channels, high, wide});
    image = dynamic::narrow(dynamic::narrow(image, 2, w.pad.height, w.out.height), 3, w.pad.width, w.out.width);
    return alone ? dynamic::squeeze(image, 0) : image;
  };
}

/// (x;p;size[;stride;ceiling]): the p-norm of the elements under each window, of images or lines.
inline object norm_pool(std::string_view name, object x) {
  arguments given(name, x, 3, 5);
  const bool lines = name.ends_with("1d");
  const double p = given.number_at(1);
  if (!(p != 0) || !std::isfinite(p)) throw value_error(message("a norm of power ", p, ": use another than 0"));
  avg_pool2d_options how;
  const auto pair_at = [&](std::size_t i, std::string_view what) {
    return pair_of({std::string(what), owned::share(given[i])}, lines, 1);
  };
  const pair2d kernel = pair_at(2, "size");
  std::size_t next = 3;
  if (given.size() > next && !read_flag(given[next])) {
    if (!is_null(given[next])) how.stride = pair_at(next, "stride");
    ++next;
  }
  if (given.size() > next) how.ceil_mode = flag_of({"ceiling", owned::share(given[next])});
  const operand found = given.operand_at(0);
  const int rank = found.value.dim(), images = lines ? 3 : 4;
  if (rank != images && rank != images - 1)
    throw shape_error(
        message("expects ", images - 1, " or ", images, " dimensions, given sizes ", found.value.sizes()));
  tensor value = norms::floating(found.value);
  if (rank != images) value = dynamic::unsqueeze(value, 0);
  if (lines) value = dynamic::unsqueeze(value, -2);
  tensor sum = dynamic::avg_pool2d(dynamic::call("pow", {value, dynamic::scalar(p)}), kernel, how);
  sum = dynamic::call("relu", {sum}) * static_cast<double>(kernel.area());
  tensor result = dynamic::call("pow", {sum, dynamic::scalar(1 / p)});
  if (lines) result = dynamic::squeeze(result, -2);
  if (rank != images) result = dynamic::squeeze(result, 0);
  return respond(std::move(result), found.handle);
}

/// One dimension as so many parts, by a reduction of each: torch's rule for where they begin and end.
inline tensor parts_of(const tensor& x, std::int64_t axis, std::int64_t to, std::string_view by) {
  const std::int64_t n = x.size(axis);
  if (to < 1 || to > (1 << 20) || n < 1)
    throw value_error(message(to, " parts of ", n, " elements: expects 1 or more of both"));
  std::vector<tensor> parts;
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t begin = i * n / to, end = ((i + 1) * n + to - 1) / to;
    parts.push_back(dynamic::reduce(by, dynamic::narrow(x, axis, begin, end - begin), {axis}, true));
  }
  return dynamic::cat(parts, axis);
}
/// adaptmax of one to three dimensions, adaptavg of three: (x;size). Windows are products of parts of each dimension.
inline layer_function adapt_of(std::string_view name, const std::vector<option>& options) {
  const int axes = name[name.size() - 2] - '0';
  longs sizes;
  for (const option& each : options) {
    const auto all = read_longs(each.value.get());
    if (each.name != "size" || !all)
      throw value_error(message("option `", each.name, " is a ", describe(each.value.get())));
    sizes = *all;
  }
  if (sizes.size() != 1 && sizes.size() != static_cast<std::size_t>(axes))
    throw value_error(message("expects one size or ", axes, ", given ", sizes.size()));
  return [axes, sizes, by = name.starts_with("adaptmax") ? "max" : "mean"](const tensor& x, bool) {
    const int rank = x.dim();
    if (rank != axes + 1 && rank != axes + 2)
      throw shape_error(message("expects ", axes + 1, " or ", axes + 2, " dimensions, given sizes ", x.sizes()));
    tensor result = norms::floating(x);
    for (int i = 0; i < axes; ++i)
      result = parts_of(result, rank - axes + i, sizes.size() == 1 ? sizes[0] : sizes[static_cast<std::size_t>(i)], by);
    return result;
  };
}

/// (x[;size;scale;mode;align]): images or lines at another size, by what lies nearest or between.
inline layer_function interpolate_of(std::string_view, const std::vector<option>& options) {
  longs size;
  std::vector<double> scale;
  nn::upsample_options how;
  std::string mode = "nearest";
  for (const option& each : options) {
    object value = each.value.get();
    if (is_null(value) || (value->type == mixed_type && value->count == 0)) continue;
    if (const auto all = read_longs(value); each.name == "size" && all) {
      size = *all;
    } else if (const auto number = read_number(value); each.name == "scale" && (number || all)) {
      if (number)
        scale = {*number};
      else
        for (const std::int64_t s : *all) scale.push_back(static_cast<double>(s));
    } else if (const auto word = read_symbol(value); each.name == "mode" && word) {
      mode = *word;
    } else if (each.name == "align") {
      how.align_corners = flag_of(each);
    } else {
      throw value_error(message("option `", each.name, " is a ", describe(value)));
    }
  }
  const bool bicubic = mode == "bicubic", between = bicubic || mode == "linear" || mode == "bilinear";
  if (!between && mode != "nearest")
    throw value_error(message("no mode `", mode, ", expected one of nearest linear bilinear bicubic"));
  if (size.empty() == scale.empty()) throw value_error("expects a size or a scale, one of the two");
  how.mode = bicubic ? nn::upsample_mode::bicubic : between ? nn::upsample_mode::linear : nn::upsample_mode::nearest;
  return [=](const tensor& x, bool) {
    const int rank = x.dim();
    const int axes = mode == "linear" ? 1 : between ? 2 : rank == 3 ? 1 : 2;
    if (rank != axes + 2 || (how.align_corners && !between))
      throw shape_error(message("by `", mode, ": expects a batch of ", axes == 1 ? "lines" : "images", ", ", axes + 2,
                                " dimensions, and corners that align only between places, given sizes ", x.sizes()));
    tensor result = norms::floating(x);
    for (int i = 0; i < axes; ++i) {
      const std::int64_t axis = rank - axes + i, n = result.size(axis);
      const auto of = [&](const auto& all) { return all.size() == 1 ? all[0] : all[static_cast<std::size_t>(i)]; };
      if ((size.size() > 1 && size.size() != static_cast<std::size_t>(axes)) ||
          (scale.size() > 1 && scale.size() != static_cast<std::size_t>(axes)))
        throw value_error(message("expects one number or ", axes));
      const double wanted = size.empty() ? static_cast<double>(n) * of(scale) : static_cast<double>(of(size));
      if (n < 1 || !(wanted >= 1 && wanted < (1 << 30)) || wanted != std::floor(wanted))
        throw value_error(message(wanted, " places from ", n, ": expects a whole number, 1 or more; give a size"));
      const auto to = static_cast<std::int64_t>(wanted);
      if (how.mode == nn::upsample_mode::nearest) {
        longs at;
        for (std::int64_t k = 0; k < to; ++k) at.push_back(k * n / to);
        result = dynamic::index_select(result, axis, index_beside(result, at));
        continue;
      }
      const tensor shares =
          tensor(nn::detail::interpolation<double, Cpu>(n, to, how, Cpu{})).to(result.type()).to(result.device());
      result = dynamic::transpose(
          dynamic::matmul(dynamic::transpose(result, axis, -1), dynamic::transpose(shares, 0, 1)), axis, -1);
    }
    return result;
  };
}

/// Each image of a batch by itself, or the only one.
template <class F>
tensor of_each_image(const tensor& x, const F& f) {
  if (x.dim() < 4) return f(x);
  std::vector<tensor> all;
  for (std::int64_t i = 0; i < x.size(0); ++i) all.push_back(f(dynamic::select(x, 0, i)));
  return dynamic::stack(all, 0);
}
inline void check_images(const tensor& x) {
  if (x.dim() < 2 || x.dim() > 4 || x.numel() == 0)
    throw shape_error(message("expects images, 2 to 4 dimensions, given sizes ", x.sizes()));
}

/// (x;size[;pad;padmode;value]): a part of each image from a random place, padded before.
inline layer_function random_crop_of(std::string_view, const std::vector<option>& options) {
  std::vector<option> others;
  pair2d size = 0;
  for (const option& each : options)
    if (each.name == "size")
      size = pair_of(each, false, 1);
    else
      others.push_back({each.name, owned::share(each.value.get())});
  if (size.height < 1 || size.width < 1) throw value_error("expects a size, 1 or more");
  layer_functions::padding around = layer_functions::read_padding(others);
  longs& pad = around.numbers;
  if (pad.size() == 1) pad.assign(4, pad[0]);
  if (pad.size() == 2) pad = {pad[1], pad[1], pad[0], pad[0]};
  return [size, around](const tensor& x, bool) {
    check_images(x);
    const tensor value = around.numbers.empty() ? x : layer_functions::padded_by(x, around);
    const std::int64_t high = value.size(-2) - size.height, wide = value.size(-1) - size.width;
    if (high < 0 || wide < 0) throw value_error(message("a part of ", size, " of images of sizes ", value.sizes()));
    generator& from = session().random;
    return of_each_image(value, [&](const tensor& image) {
      const std::int64_t top = from.below(high + 1), left = from.below(wide + 1);
      return dynamic::narrow(dynamic::narrow(image, -2, top, size.height), -1, left, size.width);
    });
  };
}

/// (x[;p;dim]): each image turned around along a dimension with a probability.
inline layer_function random_flip_of(std::string_view, const std::vector<option>& options) {
  double p = 0.5;
  std::int64_t dim = -1;
  for (const option& each : options) {
    const auto number = read_number(each.value.get());
    const auto axis = read_long(each.value.get());
    if (each.name == "p" && number)
      p = *number;
    else if (each.name == "dim" && axis)
      dim = *axis;
    else
      throw value_error(message("option `", each.name, " is a ", describe(each.value.get())));
  }
  if (!(p >= 0 && p <= 1)) throw value_error(message("a probability of ", p, " is not in 0 to 1"));
  return [p, dim](const tensor& x, bool) {
    check_images(x);
    const std::int64_t axis = normalize_axis(dim, x.dim(), "randomflip") - x.dim();
    if (axis < -3) throw value_error("the batch is not turned around");
    return of_each_image(x, [&](const tensor& image) {
      return session().random.uniform53() < p ? dynamic::flip(image, {&axis, 1}) : image;
    });
  };
}

/// A layer's function on the first of so many arguments, with the options behind it.
template <layer_function (*Of)(std::string_view, const std::vector<option>&), std::size_t Least, std::size_t Most,
          unsigned Trailing = any_trailing>
object called(std::string_view name, object x) {
  arguments given(name, x, Least, Most, Trailing);
  const layer_function f = Of(name, options_behind(name, given));
  const operand found = given.operand_at(0);
  return respond(f(found.value, false), found.handle);
}

/// (x;y;w[;b]): for each k, the sum of x_i w_kij y_j.
inline object bilinear(std::string_view name, object x) {
  const arguments given(name, x, 3, 4);
  const operand a = given.operand_at(0), b = given.operand_at(1), w = given.operand_at(2);
  const dims sizes = w.value.sizes();
  if (sizes.rank() != 3 || a.value.dim() < 1 || b.value.dim() < 1 || a.value.size(-1) != sizes[1] ||
      b.value.size(-1) != sizes[2])
    throw shape_error(message("sizes ", a.value.sizes(), ", ", b.value.sizes(), " and weights of ", sizes,
                              ": expects (..., in1), (..., in2) and (out, in1, in2)"));
  // (..., in1) by (in1, out * in2), then the second operand over the last dimension.
  const tensor left =
      dynamic::matmul(a.value, dynamic::reshape(dynamic::permute(w.value, {1, 0, 2}), {sizes[1], sizes[0] * sizes[2]}));
  dims wide = left.sizes();
  wide[wide.rank() - 1] = sizes[0];
  wide.push_back(sizes[2]);
  tensor result = dynamic::reduce("sum", dynamic::reshape(left, wide) * dynamic::unsqueeze(b.value, -2), {-1});
  bool handle = a.handle || b.handle || w.handle;
  if (given.size() > 3) {
    const operand bias = given.operand_at(3);
    result = result + bias.value;
    handle = handle || bias.handle;
  }
  return respond(std::move(result), handle);
}

/// x, by a slope where it is negative: a random one in training, else the mean of the two.
inline tensor random_slopes(const tensor& x, double low, double high, bool training) {
  const tensor value = norms::floating(x);
  const tensor slope = training ? draws::values(value.sizes(), value.type(),
                                                [&] { return low + (high - low) * session().random.uniform53(); })
                                      .to(value.device())
                                : dynamic::scalar((low + high) / 2);
  const tensor negative = dynamic::call("lt", {value, dynamic::scalar(0)});
  return dynamic::call("where", {negative, dynamic::call("mul", {value, slope}), value});
}
inline void check_slopes(double low, double high) {
  if (!(low <= high)) throw value_error(message("slopes from ", low, " to ", high));
}
/// Its options are lower, upper and inplace, which is read and left unused.
inline layer_function random_slopes_of(std::string_view, const std::vector<option>& options) {
  double low = 1.0 / 8, high = 1.0 / 3;
  for (const option& each : options) {
    const auto number = read_number(each.value.get());
    if (number && (each.name == "lower" || each.name == "upper"))
      (each.name == "lower" ? low : high) = *number;
    else if (each.name != "inplace" || !read_flag(each.value.get()))
      throw value_error(message("option `", each.name, " is a ", describe(each.value.get())));
  }
  check_slopes(low, high);
  return [low, high](const tensor& x, bool training) { return random_slopes(x, low, high, training); };
}
/// (x[;lower;upper][;training]).
inline object rrelu(std::string_view name, object x) {
  arguments given(name, x, 1, 4, number_trailing | flag_trailing);
  const bool training = given.take_flag().value_or(false);
  const double low = given.size() > 1 ? given.number_at(1) : 1.0 / 8,
               high = given.size() > 2 ? given.number_at(2) : 1.0 / 3;
  check_slopes(low, high);
  const operand found = given.operand_at(0);
  return respond(random_slopes(found.value, low, high, training), found.handle);
}

}  // namespace kiln::k::windows_of

namespace kiln::k {

inline void offer_window_functions(registry& r) {
  r.offer("unfold", windows_of::called<windows_of::unfold_of, 1, 6>);
  r.offer("fold", windows_of::called<windows_of::fold_of, 1, 7>);
  for (std::string_view name : {"lppool1d", "lppool2d"}) r.offer(name, windows_of::norm_pool);
  for (std::string_view name : {"adaptmax1d", "adaptmax2d", "adaptmax3d", "adaptavg3d"})
    r.offer(name, windows_of::called<windows_of::adapt_of, 2, 2>);
  r.offer("interpolate", windows_of::called<windows_of::interpolate_of, 1, 5>);
  r.offer("randomcrop", windows_of::called<windows_of::random_crop_of, 1, 5>);
  r.offer("randomflip", windows_of::called<windows_of::random_flip_of, 1, 3, number_trailing | options_trailing>);
  r.offer("bilinear", windows_of::bilinear);
  r.offer("rrelu", windows_of::rrelu);
}

}  // namespace kiln::k
