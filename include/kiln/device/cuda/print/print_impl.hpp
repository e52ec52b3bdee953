// SPDX-License-Identifier: BSL-1.0
// The definitions of print.hpp.
#pragma once

#include <kiln/device/cuda/print/print.hpp>

namespace kiln::cuda::detail {

KILN_INLINE std::string hex(std::uint64_t value) {
  char digits[17] = "0000000000000000", out[17];
  const std::to_chars_result end = std::to_chars(out, out + 16, value, 16);
  std::copy(out, end.ptr, digits + 16 - (end.ptr - out));
  return digits;
}

KILN_INLINE std::string bounds_of(const plan& p) {
  if (p.cluster > 1) return message("__cluster_dims__(", p.cluster, ", 1, 1) __launch_bounds__(", p.threads, ")");
  if (p.least_blocks == 0) return message("__launch_bounds__(", p.threads, ")");
  const std::string least = p.least_blocks == all_blocks ? std::string("full_blocks") : message(p.least_blocks);
  return message("__launch_bounds__(", p.threads, ", ", least, ")");
}

KILN_INLINE std::uint64_t hash_of(std::string_view text, std::uint64_t start) {
  for (const char c : text) start = (start ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return start;
}

KILN_INLINE void merge_leaves(const task& job, const plan& p, program& into) {
  program all;
  std::vector<std::int16_t> place(static_cast<std::size_t>(job.tape.size));
  auto moved = [&](std::int16_t i) { return i < 0 ? i : place[static_cast<std::size_t>(i)]; };
  for (int i = 0; i < job.tape.size; ++i) {
    instruction now = job.tape[i];
    if (now.code == opcode::leaf) now.slot = p.same_as[static_cast<std::size_t>(now.slot)];
    now.a = moved(now.a), now.b = moved(now.b), now.c = moved(now.c);
    place[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(all.push(now));
  }
  for (int r = 0; r < job.tape.result_count; ++r) {
    const bool wanted = p.results[static_cast<std::size_t>(r)].how != access::unused;
    all.add_result(wanted ? moved(job.tape.results[r]) : -1);
  }
  keep_needed(all, into);
}

KILN_INLINE void finish(source& out, const tape_view& t, const plan& p, std::string_view body,
                        std::string_view skeleton) {
  const tape_key of_tape = kiln::key(t);
  const std::string specialisation = p.key();
  out.name = message("kiln_", name(p.shape), "_",
                     hex(hash_of(specialisation, of_tape.low ^ (of_tape.high * 0x9e3779b97f4a7c15u))));
  std::string head;
  const std::string formula = infix(t, op_facts_table);
  for (std::size_t at = 0; at <= formula.size();) {
    const std::size_t end = std::min(formula.find('\n', at), formula.size());
    head += "// " + formula.substr(at, end - at) + "\n";
    at = end + 1;
  }
  head += "// tape " + hex(of_tape.high) + hex(of_tape.low) + "\n// " + specialisation + "\n";
  head += message("#include <kernels/", skeleton, ".cuh>\n");
  for (const rare_functions& rare : all_rare_functions)
    if (std::any_of(rare.names.begin(), rare.names.end(),
                    [&](std::string_view name) { return !name.empty() && body.find(name) != std::string_view::npos; }))
      head += message("#include <kernels/", rare.skeleton, ".cuh>\n");
  head += "\nnamespace kiln::kernels {\n\n";
  out.text = head;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t mark = std::min(body.find("@name", at), body.size());
    out.text += body.substr(at, mark - at);
    if (mark < body.size()) out.text += out.name;
    at = mark + 5;
  }
  out.threads = p.threads;
  out.shared_bytes = p.shared_bytes;
  out.cluster = p.cluster;
  out.waits_for_grid = true;
  out.text += "\n}  // namespace kiln::kernels\nusing kiln::kernels::" + out.name + ";\n";
}

}  // namespace kiln::cuda::detail
