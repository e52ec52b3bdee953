// SPDX-License-Identifier: BSL-1.0
// The definitions of print_transpose.hpp.
#pragma once

#include <kiln/device/cuda/print/print_transpose.hpp>

namespace kiln::cuda {

namespace detail {

/// Which thread of a block moves what of a tile: `along` is its first element along rows of memory, `line` its row, and
/// `passes` times it goes on by `lines` rows. Lanes lie side by side for 128 bytes, then above each other.
struct tile_threads {
  int vectors, lanes, across, lines, passes;
  explicit tile_threads(const plan& p)
      : vectors(p.tile / p.step),
        lanes(std::min(p.step == 1 ? 32 : 8, vectors)),
        across(vectors / lanes),
        lines(p.threads / vectors),
        passes(p.tile / lines) {}
};

/// The turned leaves of a tile, from memory to shared memory. All loads of one that lies within the domain as a whole
/// are under way together.
KILN_INLINE void turn_tiles(lines& out, const walk& at, const plan& p, const tile_threads& threads,
                            std::string_view index) {
  const int slow = p.rank - 2, fast = p.rank - 1;
  std::vector<int> turned;
  std::vector<dtype> types;
  at.each_leaf([&](int slot, dtype type) {
    if (!at.is_turned(slot)) return;
    turned.push_back(slot);
    types.push_back(type);
  });
  // Some eight loads of a thread are under way together.
  const auto group = static_cast<std::size_t>(std::max(1, 8 / threads.passes));
  for (std::size_t first = 0; first < turned.size(); first += group) {
    const std::size_t end = std::min(first + group, turned.size());
    out.open_scope();
    out.add("const ", index, " a", slow, " = top + along;");
    const auto place = [&](int slot) {
      const std::string name = walk::leaf_name(slot);
      return message(at.begin(name, at.leaf(slot)), " + i * ", name, "_s", fast, " + a", slow);
    };
    const auto tile = [&](int slot) { return message("x", slot, "_tile[line + m * ", threads.lines, "][along + k]"); };
    const auto open_passes = [&] {
      out.open("for (int m = 0; m < ", threads.passes, "; ++m)");
      out.add("const ", index, " i = left + line + m * ", threads.lines, ";");
    };
    out.open("if (whole)");
    for (std::size_t k = first; k < end; ++k)
      out.add("vec<", storage_name(types[k]), ", ", p.step, "> x", turned[k], "_turned[", threads.passes, "];");
    out.add("#pragma unroll");
    open_passes();
    for (std::size_t k = first; k < end; ++k)
      out.add("x", turned[k], "_turned[m] = load_", at.leaf(turned[k]).how == access::turned ? "vector<" : "each<",
              p.step, ">(", place(turned[k]), ", ", p.step, ");");
    out.close();
    out.add("#pragma unroll");
    out.open("for (int m = 0; m < ", threads.passes, "; ++m)");
    out.add("#pragma unroll");
    out.open("for (int k = 0; k < ", p.step, "; ++k)");
    for (std::size_t k = first; k < end; ++k) out.add(tile(turned[k]), " = x", turned[k], "_turned[m][k];");
    out.close();
    out.close();
    out.otherwise();
    out.add("#pragma unroll 1");
    open_passes();
    out.add("const int some = i < size", fast, " ? at_most<", p.step, ">(size", slow, " - a", slow, ") : 0;");
    out.add("#pragma unroll 1");
    out.open("for (int k = 0; k < some; ++k)");
    for (std::size_t k = first; k < end; ++k) out.add(tile(turned[k]), " = *(", place(turned[k]), " + k);");
    out.close();
    out.close();
    out.close();
    out.close();
  }
}

/// What becomes of a tile, pass by pass.
KILN_INLINE void write_tile(lines& out, const map_lines& map, const walk& at, const plan& p,
                            const tile_threads& threads, std::string_view index, bool whole, bool faults) {
  const int slow = p.rank - 2, fast = p.rank - 1;
  out.add("#pragma unroll", whole ? "" : " 1");
  out.open("for (int m = 0; m < ", threads.passes, "; ++m)");
  out.add("const ", index, " a", slow, " = top + line + m * ", threads.lines, ", i = left + along;");
  if (whole) {
    out.add("constexpr int some = ", p.step, ";");
  } else {
    out.add("const int some = a", slow, " < size", slow, " ? at_most<", p.step, ">(size", fast, " - i) : 0;");
    out.add("if (some <= 0) continue;");
  }
  at.each_leaf([&](int slot, dtype type) {
    if (!at.is_turned(slot)) return;
    out.add("vec<", storage_name(type), ", ", p.step, "> x", slot, "_at;");
    out.add("#pragma unroll");
    out.add("for (int k = 0; k < ", p.step, "; ++k) x", slot, "_at[k] = x", slot, "_tile[along + k][line + m * ",
            threads.lines, "];");
  });
  add_step(out, map, p, at, faults);
  out.close();
}

}  // namespace detail

KILN_INLINE source print_transpose(const task& job, const plan& p) {
  using namespace detail;
  program merged;
  merge_leaves(job, p, merged);
  const tape_view t = detail::view_of(merged);
  source out;
  statements values(t);
  walk at(job, p, t, values);
  const int slow = p.rank - 2, fast = p.rank - 1;
  const tile_threads threads(p);
  const map_lines map = map_steps(t, p, values, at);

  signature s(p, out);
  at.parameters(s, true);
  if (values.faults()) s.fault();
  const std::string_view index = s.index();
  lines body;
  open_kernel(body, "extern \"C\" __global__ void ", bounds_of(p), " @name(", s.text(), ")");
  if (values.faults()) body.add("uint32 fault = 0;");
  at.each_leaf([&](int slot, dtype type) {
    if (at.is_turned(slot))
      body.add("__shared__ ", storage_name(type), " x", slot, "_tile[", p.tile, "][", tile_pitch(p.tile, size_of(type)),
               "];");
  });
  at.define_draws(body);
  body.insert(map.before);
  body.add("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
  body.add("const int along = (warp % ", threads.across, " * ", threads.lanes, " + lane % ", threads.lanes, ") * ",
           p.step, ", line = warp / ", threads.across, " * ", 32 / threads.lanes, " + lane / ", threads.lanes, ";");
  body.add("const ", index, " across = (size", fast, " + ", p.tile - 1, ") / ", p.tile, ", down = (size", slow, " + ",
           p.tile - 1, ") / ", p.tile, ";");
  body.add("const ", index, " all = ", walk::for_each_outer("across * down", slow), ";");
  body.open("for (", index, " tile = blockIdx.x; tile < all; tile += gridDim.x)");
  body.add(index, " rest = tile / across;");
  body.add("const ", index, " left = (tile - rest * across) * ", p.tile, ", top = rest % down * ", p.tile, ";");
  body.add("rest /= down;");
  at.coordinates_of_rest(body, index, slow);
  body.add("const bool whole = left + ", p.tile, " <= size", fast, " && top + ", p.tile, " <= size", slow, ";");
  turn_tiles(body, at, p, threads, index);
  body.add("__syncthreads();");
  body.open("if (whole)");
  write_tile(body, map, at, p, threads, index, true, values.faults());
  body.otherwise();
  write_tile(body, map, at, p, threads, index, false, values.faults());
  body.close();
  body.add("__syncthreads();");
  body.close();
  if (values.faults()) body.add("if (fault) *fault_flag = fault;");
  body.close();
  finish(out, t, p, body.text(), "map");
  return out;
}

}  // namespace kiln::cuda
