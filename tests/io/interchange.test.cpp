// SPDX-License-Identifier: BSL-1.0
// What is written here is read by NumPy, safetensors and PyTorch, where these are installed for python3, or for the
// interpreter that KILN_TEST_PYTHON names.
#include <kiln/io/save.hpp>

#include <support/array_values.hpp>
#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <cstdlib>

#include <kiln/kiln.hpp>
#include <kiln/nn/layers/activation.hpp>
#include <kiln/nn/layers/batch_norm.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/sequential.hpp>

using namespace kiln;
using kiln_tests::made_array;

TEST_CASE("interchange: Python reads every bit of what is written") {
  const kiln_tests::scratch_directory dir;
  io::tensor_map all{{"scalar", made_array(dtype::float32, {})}, {"empty", made_array(dtype::float32, {2, 0, 3})}};
  for (const dtype type : {dtype::boolean, dtype::uint8, dtype::int8, dtype::int16, dtype::int32, dtype::int64,
                           dtype::float16, dtype::float32, dtype::float64})
    all[std::string(name(type))] = made_array(type, {2, 3});
  for (const auto& [name, values] : all) io::save(dir.path() / (name + ".npy"), values);
  io::write_npz(dir.path() / "stored.npz", all);
  io::write_npz(dir.path() / "deflated.npz", all, {.compressed = true});
  io::write_safetensors(dir.path() / "numpy.safetensors", all, {{"said", "\u00e4 \"quoted\""}});
  all["bfloat16"] = made_array(dtype::bfloat16, {2, 3});
  io::save(dir.path() / "torch.safetensors", all);
  nn::Sequential net{nn::Linear{3, 2}, nn::ReLU{}, nn::BatchNorm1d{2}};
  net.get<0>().weight.copy_(made_array(dtype::float32, {2, 3}).as<float>());
  io::save(dir.path() / "module.safetensors", net);

  const char* const own = std::getenv("KILN_TEST_PYTHON");
  const std::string script = std::string(KILN_TEST_SOURCE_DIR) + "/tests/io/interchange.py";
  const std::string log = (dir.path() / "log").string();
  const int status = std::system(
      (std::string(own ? own : "python3") + " '" + script + "' '" + dir.path().string() + "' > '" + log + "' 2>&1")
          .c_str());
  MESSAGE(kiln_tests::slurp(log));
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) return;
  CHECK(status == 0);
}
