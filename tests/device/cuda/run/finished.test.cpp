// SPDX-License-Identifier: BSL-1.0
// The words in which blocks count: zero, the stream's own, and each recorded kernel's own.
#include <kiln/device/cuda/run/finished.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <set>
#include <vector>

using namespace kiln;

TEST_CASE("finished: kernels that may run at once count in words of their own, which are 0") {
  emulate::stand_in();
  const cuda::stream& usual = cuda::current_stream(Cuda{});
  const cuda::stream other = cuda::stream::create(Cuda{});
  std::vector<cuda::stream> streams{usual, other};
  if (!emulate::lacks_second_device()) streams.push_back(cuda::stream::create(Cuda{1}));
  std::set<std::uint32_t*> words;
  for (const cuda::stream& where : streams) {
    std::uint32_t* const word = cuda::finished_word(where);
    CHECK(cuda::read_value<std::uint32_t>(word, where) == 0);
    CHECK(cuda::finished_word(where) == word);
    CHECK(words.insert(word).second);
  }
  cuda::detail::capturing = true;  // a graph of this stream runs beside it later
  for (int kernel = 0; kernel < 3; ++kernel) CHECK(words.insert(cuda::finished_word(other)).second);
  cuda::detail::capturing = false;
}

TEST_CASE("finished: a capture takes thousands of words, and one more than there are is refused with a sentence") {
  emulate::stand_in();
  const cuda::stream& where = cuda::current_stream(Cuda{});
  cuda::detail::new_word(where);
  std::set<std::uint32_t*> words;
  cuda::detail::capturing = true;
  std::string said;
  try {
    while (words.size() < 100000) words.insert(cuda::finished_word(where));
  } catch (const device_error& caught) {
    said = caught.what();
  }
  cuda::detail::capturing = false;
  CHECK(words.size() >= cuda::detail::free_words::block / 2 - 1);
  CHECK(said.find("memory for the counts of blocks: not possible while a graph is captured") == 0);
  CHECK(words.insert(cuda::detail::new_word(where)).second);
}
