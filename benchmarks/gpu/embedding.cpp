// SPDX-License-Identifier: BSL-1.0
// An embedding: 65536 rows of 128 floats, taken from tables of 32000 and a million rows by indices that are all as
// likely, or of which few are most (Zipf's law: row k is about 1/k as likely as the first). Forward, and forward with
// backward.
#include "measure.hpp"

using namespace measure;

namespace {

constexpr std::int64_t columns = 128;

std::vector<std::int64_t> indices(std::int64_t n, std::int64_t rows, bool skewed) {
  std::uint64_t state = 5;
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double u = static_cast<double>(state >> 11) * 0x1p-53;
    const double at = skewed ? std::exp(u * std::log(static_cast<double>(rows))) - 1 : u * static_cast<double>(rows);
    out.push_back(std::min(rows - 1, static_cast<std::int64_t>(at)));
  }
  return out;
}

struct operands {
  std::vector<std::int64_t> at;
  on_device<float> table, by, out;
  on_device<std::int64_t> index;
  operands(std::int64_t n, std::int64_t rows, bool skewed)
      : at(indices(n, rows, skewed)), table(randn<float, Cuda>({rows, columns})), by(randn<float, Cuda>({n, columns})) {
    Tensor<std::int64_t> here = empty<std::int64_t>({n});
    std::copy(at.begin(), at.end(), here.data());
    index = here.to<Cuda>();
  }
};

// Every sixteenth column: the host needs a while for all of them.
constexpr std::int64_t apart = 16, some = columns / apart;
std::vector<double> columns_of(const on_device<float>& x) {
  return values_of(on_device<float>(x.slice(1, 0, columns, apart)));
}

void enter_table(std::int64_t n, std::int64_t rows, bool skewed) {
  const std::string contest = "embedding/float32/" + std::to_string(rows) + "/" + (skewed ? "skewed" : "uniform");
  const double row = columns * sizeof(float), taken = static_cast<double>(n) * row,
               all = static_cast<double>(rows) * row;
  const double forward = 2 * taken + 8 * static_cast<double>(n);
  enter(contest + "/forward", "kiln", [=] {
    auto x = std::make_shared<operands>(n, rows, skewed);
    work made;
    made.run = [x] { x->out = index_select(x->table, 0, x->index); };
    made.wrong = [x] {
      const auto table = columns_of(x->table);
      std::vector<double> wanted;
      for (const std::int64_t at : x->at)
        for (std::int64_t c = 0; c < some; ++c) wanted.push_back(table[static_cast<std::size_t>(at * some + c)]);
      return difference(columns_of(x->out), wanted, 0);
    };
    made.bytes = forward;
    return made;
  });
  enter_copy(contest + "/forward", forward);
  // Forward reads the rows and what they are multiplied by; backward reads that again, writes and reads the rows'
  // gradients, and writes the table's.
  const double both = 5 * taken + all + 16 * static_cast<double>(n);
  enter(contest + "/both", "kiln", [=] {
    auto x = std::make_shared<operands>(n, rows, skewed);
    x->table.requires_grad();
    work made;
    made.run = [x] {
      x->table.zero_grad();
      backward(sum(index_select(x->table, 0, x->index) * x->by));
    };
    made.wrong = [x, rows] {
      const no_grad quiet;
      const auto by = columns_of(x->by);
      std::vector<double> wanted(static_cast<std::size_t>(rows * some), 0);
      for (std::size_t i = 0; i < x->at.size(); ++i)
        for (std::size_t c = 0; c < some; ++c)
          wanted[static_cast<std::size_t>(x->at[i]) * some + c] += by[i * some + c];
      return difference(columns_of(x->table.grad()), wanted, tolerance<float>());
    };
    made.bytes = both;
    return made;
  });
  enter_copy(contest + "/both", both);
}

[[maybe_unused]] const bool entered = [] {
  for (const std::int64_t rows : {sized(32'000, 40), sized(1'000'000, 300)})
    for (const bool skewed : {false, true}) enter_table(sized(65'536, 500), rows, skewed);
  return true;
}();

}  // namespace
