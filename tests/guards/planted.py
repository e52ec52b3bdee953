#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Plants one violation after another in a temporary tree and asks each guard to catch it; a tree without violations
must pass. Run by CTest with -k GUARD; $CXX names the compiler."""
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock
from pathlib import Path

tools = Path(__file__).resolve().parents[2] / "tools"
compiler = os.environ.get("CXX", "c++")
licence = "// SPDX-License-Identifier: BSL-1.0\n"


class planted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.header("kiln/core/a.hpp", "")
        self.header("kiln/expr/b.hpp", "#include <kiln/core/a.hpp>")
        self.header("kiln/kiln.hpp", "#include <kiln/expr/b.hpp>")
        for name in ("core/a", "expr/b", "kiln"):
            self.write(f"tests/{name}.test.cpp", licence)

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))

    def header(self, name, text):
        self.write(f"include/{name}", f"{licence}#pragma once\n{text}\n")

    def run_tool(self, name, *arguments):
        return subprocess.run([sys.executable, str(tools / name), *map(str, arguments)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.root)

    def passes(self, *command):
        result = self.run_tool(*command)
        self.assertEqual(result.returncode, 0, result.stdout)

    def caught(self, words, *command):
        result = self.run_tool(*command)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertIn(words, result.stdout)


class layers(planted):
    def check(self, words, header, text):
        self.header(header, text)
        self.caught(words, "layers.py", "include")

    def test_layers_clean(self):
        self.header("kiln/device/cpu/simd/c.hpp", "#include <kiln/expr/b.hpp>")
        self.header("kiln/device/cpu/simd/all.hpp", "#include <kiln/device/cpu/simd/c.hpp>")
        self.header("kiln/device/cpu/d.hpp", "#include <kiln/device/cpu/simd/all.hpp>")
        self.header("kiln/kiln.hpp", "#include <kiln/device/cpu/d.hpp>")
        self.header("kiln/k.hpp", "#include <kiln/expr/b.hpp>")
        self.passes("layers.py", "include")

    def test_layers_upward(self):
        self.check("core stands left of expr", "kiln/core/c.hpp", "#include <kiln/expr/b.hpp>")

    def test_layers_upward_behind_if(self):
        self.check("core stands left of expr", "kiln/core/c.hpp", "#if 0\n # include <kiln/expr/b.hpp>\n#endif")

    def test_layers_beside(self):
        self.header("kiln/distributed/c.hpp", "")
        self.check("data stands left of distributed or beside it", "kiln/data/c.hpp", "#include <kiln/distributed/c.hpp>")

    def test_layers_device_knows_tensor(self):
        self.header("kiln/tensor/c.hpp", "")
        self.check("device/cpu stands left of tensor", "kiln/device/cpu/c.hpp", "#include <kiln/tensor/c.hpp>")

    def test_layers_one_device_knows_the_other(self):
        self.header("kiln/device/cuda/c.hpp", "")
        self.check("or beside it", "kiln/device/cpu/c.hpp", "#include <kiln/device/cuda/c.hpp>")

    def test_layers_rooms(self):
        self.header("kiln/device/cuda/print/c.hpp", "")
        self.check("in device/cuda the order is driver", "kiln/device/cuda/plan/c.hpp",
                   "#include <kiln/device/cuda/print/c.hpp>")

    def test_layers_room_without_a_place(self):
        self.header("kiln/device/cuda/cellar/c.hpp", "")
        self.check("the room cellar has no place", "kiln/device/cuda/plan/c.hpp",
                   "#include <kiln/device/cuda/cellar/c.hpp>")

    def test_cuda_lint_loads_one_after_the_other(self):
        sys.path.insert(0, str(tools))
        import cuda_lint
        def word(operation, tells=7, waits=0):
            return operation | 6 << 64 + 9 | tells << 64 + 46 | waits << 64 + 52
        def halves(words):
            return [(one & (1 << 64) - 1, one >> 64) for one in words]
        first, second, reader, out = (word(cuda_lint.load, tells=0), word(cuda_lint.load, tells=1),
                                      word(0x816, waits=1 << 0), word(cuda_lint.store, waits=1 << 1))
        self.assertEqual(list(cuda_lint.waits_between_loads(halves([first, second, reader, out]))), [])
        self.assertEqual(list(cuda_lint.waits_between_loads(halves([first, reader, second, out]))), [(0, 16, 32)])
        # The next step's loads come after the results of this one.
        self.assertEqual(list(cuda_lint.waits_between_loads(halves([first, reader, out, second, out]))), [])

    def test_cuda_lint_few_products(self):
        sys.path.insert(0, str(tools))
        import cuda_lint
        def code(products):
            return [(cuda_lint.async_copy, 0), (cuda_lint.matrix_load, 0)] + [(cuda_lint.product, 0)] * products
        name = "kiln_attention_forward_half_64_plain"
        said = lambda code, name=name: " ".join(cuda_lint.breaches_of_products(name, code))
        self.assertEqual(said(code(3)), "")
        self.assertEqual(said(code(2)), f"{name}: 2 products for 1 ldmatrix, fewer than 3 each")
        self.assertEqual(said(code(3)[1:]), f"{name}: no copies to shared memory by cp.async")
        self.assertEqual(said(code(2), "kiln_attention_backward_keys_half_64"), "")
        self.assertEqual(said([(cuda_lint.load, 0)], "kiln_attention_forward_float_64"), "")

    # Real code: a branch for each load, as maps of bfloat16 once had it; more values than registers; more registers
    # than half of a multiprocessor's threads can have.
    def test_cuda_lint_memory_before_the_wait(self):
        sys.path.insert(0, str(tools))
        import cuda_lint
        wait, load, add = (cuda_lint.wait_for_grid, 0), (cuda_lint.load, 0), (0x210, 0)
        self.assertFalse(cuda_lint.touches_memory_first([add, wait, load]))
        self.assertTrue(cuda_lint.touches_memory_first([add, load, wait]))
        self.assertTrue(cuda_lint.touches_memory_first([add]))

    def test_cuda_lint_on_machine_code(self):
        sys.path.insert(0, str(tools))
        import cuda_lint
        if cuda_lint.find_compiler() is None:
            self.skipTest("neither NVRTC nor nvcc is here")
        in_turn = """
            #include <kernels/map.cuh>
            namespace kiln::kernels {
            extern "C" __global__ void kiln_map_in_turn(bfloat16* y, const bfloat16* __restrict__ x,
                                                        const bfloat16* __restrict__ w, int32 size) {
              const int32 i = first_thread<int32>() * 8;
              const int some = at_most<8>(size - i);
              const auto a = load_vector<8>(x + i, some);
              const auto b = load_vector<8>(w + i, some);
              vec<bfloat16, 8> out;
            #pragma unroll
              for (int k = 0; k < 8; ++k) out[k] = stored_as<bfloat16>(value_of(a[k]) * value_of(b[k]));
              store_vector(y + i, out, some);
            }
            }  // namespace kiln::kernels
            """
        many = """
            extern "C" __global__ void BOUNDS kiln_map_many(float* y, const float* x) {
              float v[96];
            #pragma unroll
              for (int i = 0; i < 96; ++i) v[i] = x[i * 1024 + threadIdx.x];
              __syncthreads();
            #pragma unroll
              for (int i = 0; i < 96; ++i) y[threadIdx.x + i * 256] = v[i] * v[95 - i] + v[i * 7 % 96];
            }
            """
        self.write("texts/in_turn.cu", in_turn)
        self.write("texts/registers.cu", many.replace("BOUNDS", ""))
        self.write("texts/spills.cu", many.replace("BOUNDS", "__launch_bounds__(256, 8)"))
        said = self.run_tool("cuda_lint.py", self.root / "texts", tools.parent, "sm_90")
        self.assertEqual(said.returncode, 1, said.stdout)
        for words in (r"in_turn.cu, sm_90: kiln_map_in_turn: the instruction at 0x\w+ waits for the load at",
                      r"registers.cu, sm_90: kiln_map_many: \d+ registers leave room for 512 of 2048 threads",
                      r"spills.cu, sm_90: kiln_map_many: \d+ bytes of stack, \d+ of spills stored"):
            self.assertRegex(said.stdout, words)

    # Texts as the printers write them are compiled together; one that NVRTC refuses is named alone, and again until it is
    # right. What was accepted is compiled again only if it, or a header that it includes, has changed.
    def test_cuda_texts(self):
        sys.path.insert(0, str(tools))
        import cuda_lint
        if not isinstance(cuda_lint.find_compiler(), cuda_lint.Nvrtc):
            self.skipTest("no NVRTC is here")
        # What an earlier run has accepted would be known already.
        own = unittest.mock.patch.dict(os.environ, {"KILN_NVRTC_CACHE": str(self.root / "known")})
        own.start()
        self.addCleanup(own.stop)
        def printed(name, body):
            self.write(f"texts/{name}.cu", f"""
                #include <kernels/a.cuh>
                namespace kiln::kernels {{
                extern "C" __global__ void __launch_bounds__(256) kiln_{name}(float* x) {{ {body} }}
                }}
                using kiln::kernels::kiln_{name};
                """)
        def said():
            ran = self.run_tool("cuda_texts.py", "texts", self.root)
            return ran.returncode, ran.stdout
        self.write("kernels/a.cuh", "#pragma once\n#include <kernels/b.cuh>\n")
        self.write("kernels/b.cuh", "#pragma once\n__device__ inline float twice(float x) { return 2 * x; }\n")
        printed("good", "*x = twice(*x);")
        printed("fine", "*x = 1;")
        self.write("texts/custom.cu", 'extern "C" __global__ void good(int* x) { *x = 1; }')
        self.write("texts/cluster.cu", 'extern "C" __global__ void __cluster_dims__(2, 1, 1) f(int* x) { *x = 1; }')
        self.assertRegex(said()[1], r"4 texts .* 4 compiled, 0 known")
        printed("bad", "*x = thrice(*x);")
        for _ in range(2):
            status, words = said()
            self.assertEqual(status, 1, words)
            self.assertRegex(words, r"texts/bad.cu, compute_\d+: .*thrice")
            self.assertRegex(words, r"5 texts .* 1 compiled, 4 known")
        printed("bad", "*x = 1 / 0;")  # a warning is a refusal
        self.assertRegex(said()[1], r"texts/bad.cu, compute_\d+: .*division by zero")
        printed("bad", "*x = 3;")
        self.write("kernels/b.cuh", "#pragma once\n__device__ inline float twice(float x) { return x + x; }\n")
        status, words = said()
        self.assertEqual(status, 0, words)
        self.assertRegex(words, r"5 texts .* 3 compiled, 2 known")
        # The assembler is asked where there is something to count.
        printed("big", "__shared__ float all[12289]; all[threadIdx.x] = *x; __syncthreads(); *x = all[0];")
        self.assertRegex(said()[1], r"texts/big.cu, sm_\d+: .*too much shared data")
        (self.root / "texts/big.cu").unlink()
        ran = self.run_tool("cuda_texts.py", "texts", self.root, "--all")
        self.assertRegex(ran.stdout, r"5 texts .* \d+ compiled, 2 known")

    def test_cuda_texts_an_installed_nvrtc_must_open(self):
        for installed, status, words in (("/some/libnvrtc.so", 1, "but was not opened"), ("", 77, "SKIPPED: no NVRTC")):
            ran = subprocess.run([sys.executable, str(tools / "cuda_texts.py"), "texts", "."], text=True, cwd=self.root,
                                 capture_output=True, env={"KILN_LIBNVRTC": "/nowhere", "KILN_TEST_NVRTC": installed})
            self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
            self.assertIn(words, ran.stdout)

    def test_layers_cycle_by_a_second_part(self):
        self.header("kiln/core/c_impl.hpp", "#include <kiln/core/d.hpp>")
        self.header("kiln/core/d.hpp", "#include <kiln/core/c.hpp>")
        self.check("cycle: kiln/core/c.hpp -> kiln/core/d.hpp -> kiln/core/c.hpp", "kiln/core/c.hpp",
                   "#ifndef KILN_COMPILED\n#include <kiln/core/c_impl.hpp>\n#endif")

    def test_layers_cycle_in_a_folder(self):
        self.header("kiln/core/c.hpp", "#include <kiln/core/d.hpp>")
        self.check("cycle: kiln/core/c.hpp -> kiln/core/d.hpp -> kiln/core/c.hpp", "kiln/core/d.hpp",
                   "#include <kiln/core/c.hpp>")

    def test_layers_umbrella_of_all(self):
        self.check("umbrella <kiln/kiln.hpp>", "kiln/tensor/c.hpp", "#include <kiln/kiln.hpp>")

    def test_layers_umbrella_of_all_from_k(self):
        self.check("umbrella <kiln/kiln.hpp>", "kiln/k.hpp", "#include <kiln/kiln.hpp>")

    def test_layers_umbrella_of_own_folder(self):
        self.header("kiln/ops/all.hpp", "")
        self.check("umbrella of its own folder", "kiln/ops/c.hpp", "#include <kiln/ops/all.hpp>")

    def test_layers_header_for_users(self):
        self.header("kiln/nn.hpp", "")
        self.check("which is for users", "kiln/optim/c.hpp", "#include <kiln/nn.hpp>")

    def test_layers_eigen(self):
        self.check("only device/eigen, linalg, kiln/tensor/eigen.hpp and kiln/k/decompositions_impl.hpp know Eigen", "kiln/tensor/c.hpp",
                   "#include <Eigen/Core>")

    def test_layers_eigen_exchange(self):
        self.header("kiln/tensor/eigen.hpp", "#include <Eigen/Core>")
        self.passes("layers.py", "include")
        self.check("kiln/kiln.hpp reaches kiln/tensor/eigen.hpp", "kiln/kiln.hpp", "#include <kiln/expr/b.hpp>\n#include <kiln/tensor/eigen.hpp>")

    def test_layers_optional_reached(self):
        self.header("kiln/k.hpp", "")
        self.check("kiln/kiln.hpp reaches kiln/k.hpp", "kiln/kiln.hpp", "#include <kiln/k.hpp>")

    def test_layers_not_reached(self):
        self.check("kiln/core/c.hpp: kiln/kiln.hpp does not reach it", "kiln/core/c.hpp", "")

    def test_layers_no_such_header(self):
        self.check("does not exist", "kiln/core/c.hpp", "#include <kiln/core/gone.hpp>")

    def test_layers_quotes(self):
        self.check("write <kiln/...>", "kiln/core/c.hpp", '#include "a.hpp"')

    def test_layers_unknown_folder(self):
        self.check("has no place in the order", "kiln/misc/c.hpp", "")

    def test_layers_empty_tree(self):
        self.caught("no headers", "layers.py", "tests")


class mirror(planted):
    def test_mirror_clean(self):
        self.passes("mirror.py", ".")

    def test_mirror_missing(self):
        self.header("kiln/core/c.hpp", "")
        self.caught("tests/core/c.test.cpp is missing", "mirror.py", ".")
        self.write("tests/unmirrored.txt", "core/c.hpp: there is a reason\n")
        self.passes("mirror.py", ".")

    def test_mirror_stale_exception(self):
        self.write("tests/unmirrored.txt", "core/a.hpp: once it had none\n")
        self.caught("core/a.hpp needs no exception", "mirror.py", ".")

    def test_mirror_exception_without_reason(self):
        self.header("kiln/core/c.hpp", "")
        self.write("tests/unmirrored.txt", "core/c.hpp:\n")
        self.caught("core/c.hpp gives no reason", "mirror.py", ".")


class form(planted):
    def test_form_clean(self):
        self.header("kiln/core/c.hpp", "#define KILN_VERSION_MAJOR 0\n// #define in a comment is no macro")
        self.passes("form.py", ".")

    def test_form_macro(self):
        self.header("kiln/core/c.hpp", "  # define KILN_VERSION_X 1")
        self.caught("core/c.hpp:3: defines the macro KILN_VERSION_X", "form.py", ".")

    def test_form_using_namespace(self):
        self.header("kiln/core/c.hpp", "using namespace std;")
        self.caught("reaches every user", "form.py", ".")

    def test_form_licence(self):
        self.write("tests/core/c.test.cpp", "int x;\n")
        self.caught("tests/core/c.test.cpp:1: this line is not", "form.py", ".")

    def test_form_licence_in_fail_comes_second(self):
        self.write("tests/fail/c.cpp", f"// expect: sentence\n{licence}int x;\n")
        self.passes("form.py", ".")
        self.write("tests/fail/c.cpp", f"{licence}// expect: sentence\n")
        self.caught("tests/fail/c.cpp:2: this line is not", "form.py", ".")

    def test_form_getenv(self):
        self.header("kiln/core/c.hpp", 'inline auto c = std::getenv("C");')
        self.caught("core/c.hpp:1: calls getenv", "form.py", ".")

    def test_form_stream_of_any_locale(self):
        stream = "inline void f() {\n  std::ostringstream out;\n"
        self.header("kiln/core/c.hpp", stream + "}")
        self.caught("core/c.hpp:4: out writes numbers as the program's locale does", "form.py", ".")
        self.header("kiln/core/c.hpp", stream + "  out.imbue(std::locale::classic());\n}")
        self.passes("form.py", ".")

    def test_form_pragma_once(self):
        self.write("include/kiln/core/c.hpp", licence)
        self.caught("`#pragma once` is missing", "form.py", ".")

    def test_form_long_line(self):
        self.header("kiln/core/c.hpp", "// " + 118 * "x")
        self.caught("121 columns", "form.py", ".")


class promises(planted):
    case = licence + 'TEST_CASE("a: holds "\n          "it") {}\n'

    def test_promises_kept(self):
        self.write("tests/core/a.test.cpp", self.case)
        self.write("tests/p/CMakeLists.txt", "add_test(NAME p/program COMMAND p)\n")
        self.write("docs/promises.md", "# P\n\n- It holds.\n  *tests/core/a.test.cpp: a: holds\n  it*\n\n## Q\n\n"
                                       "- So does this.\n  *tests/p/CMakeLists.txt: p/program*\n")
        self.passes("promises.py", ".")

    def test_promises_of_a_test_that_is_gone(self):
        self.write("tests/core/a.test.cpp", self.case)
        self.write("docs/promises.md", "- It holds.\n  *tests/core/a.test.cpp: a: held it*\n")
        self.caught("has no test `a: held it`, which is to hold: It holds.", "promises.py", ".")

    def test_promises_without_a_test(self):
        self.write("docs/promises.md", "- It holds.\n")
        self.caught("no test holds: It holds.", "promises.py", ".")


class compile_fail(planted):
    def check(self, text):
        self.write("case.cpp", text)
        return ("compile_fail.py", "case.cpp", compiler, "-std=c++20", "-Iinclude")

    def test_compile_fail_good(self):
        self.passes(*self.check("""\
            // expect: give it an int
            #ifdef EXPECT_ERROR
            static_assert(false, "give it an int");
            #endif
            """))

    def test_compile_fail_control_is_broken(self):
        self.caught("does not build even without the mistake", *self.check("// expect: sentence\nint x = gone;\n"))

    def test_compile_fail_mistake_compiles(self):
        self.caught("the mistake compiles", *self.check("// expect: sentence\nint x;\n"))

    def test_compile_fail_another_sentence(self):
        self.caught("without the sentence", *self.check("""\
            // expect: give it an int
            #ifdef EXPECT_ERROR
            static_assert(false, "something else");
            #endif
            """))

    def test_compile_fail_no_sentence(self):
        self.caught("is not `// expect: sentence`", *self.check("int x;\n"))

    def test_compile_fail_too_many_lines(self):
        many = "".join(f'static_assert(sizeof(char[{n}]) == 0, "give it an int");\n' for n in range(1, 9))
        mistake = f"#ifdef EXPECT_ERROR\n{many}#endif\n"
        self.caught("where 15 are allowed", *self.check("// expect: give it an int\n" + mistake))
        self.passes(*self.check("// expect in 60 lines: give it an int\n" + mistake))

    def test_compile_fail_flags_of_the_mistake(self):
        self.passes(*self.check("""\
            // expect: give it an int
            // with: -DWRONG
            #ifdef WRONG
            static_assert(false, "give it an int");
            #endif
            """))


class reference(planted):
    def project(self, header, examples):
        self.header("kiln/kiln.hpp", "#include <kiln/core/c.hpp>")
        self.header("kiln/core/c.hpp", header)
        self.write("docs/reference/examples.cpp", examples)
        return ("reference.py", "check", ".")

    def test_reference_complete(self):
        self.passes(*self.project("namespace kiln {\n/// Twice x.\ntemplate <class X>\nauto twice(X x) {\n"
                                  "  return x + x;\n}\n}", "// twice\nauto y = twice(x);\n"))

    def test_reference_without_words(self):
        self.caught("twice has no doc comment", *self.project("namespace kiln {\nint twice(int x);\n}", "// twice\n1;\n"))

    def test_reference_without_an_example(self):
        self.caught("twice has no example",
                    *self.project("namespace kiln {\n/// Twice x.\nint twice(int x);\n}", "int main() {}\n"))

    def test_reference_example_of_nothing(self):
        self.caught("thrice is no public function",
                    *self.project("namespace kiln {\n/// Twice x.\nint twice(int x);\n}",
                                  "// twice\n1;\n\n// thrice\n1;\n"))


class doc_blocks(planted):
    def built(self, page):
        """Writes the page's programs and compiles the first; its compiler's or its own output."""
        self.write("docs/page.md", page)
        self.header("kiln/kiln.hpp", "namespace kiln { inline int seven = 7; }")
        self.passes("doc_blocks.py", "write", "out", "docs/page.md")
        return subprocess.run([compiler, "-std=c++20", "-Iinclude", "out/docs_page_1.cpp", "-o", "program"],
                              cwd=self.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    page = "# Title\n\n```cpp\n#include <iostream>\n\nstd::cout << seven;\n```\n\nprints\n\n```text\n7\n```\n"

    def test_doc_blocks_good(self):
        self.assertEqual(self.built(self.page).returncode, 0)
        self.passes("doc_blocks.py", "run", "./program", "out/docs_page_1.txt")

    def test_doc_blocks_program_with_main(self):
        result = self.built("```cpp\n#include <kiln/kiln.hpp>\n\nint main() { return kiln::seven - 7; }\n```\n")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertFalse((self.root / "out/docs_page_1.txt").exists())

    def test_doc_blocks_broken_code_points_to_the_page(self):
        result = self.built(self.page.replace("seven", "eight"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("docs/page.md:6", result.stdout)

    def test_doc_blocks_other_output(self):
        self.built(self.page.replace("\n7\n", "\n8\n"))
        self.caught("the page promises:", "doc_blocks.py", "run", "./program", "out/docs_page_1.txt")

    def test_doc_blocks_failing_program(self):
        self.built("```cpp\nreturn 3;\n```\n```text\n```\n")
        self.caught("ended with 3", "doc_blocks.py", "run", "./program", "out/docs_page_1.txt")

    def test_doc_blocks_removed_block(self):
        self.built(self.page)
        self.passes("doc_blocks.py", "write", "out", "docs/page.md")
        self.write("docs/page.md", "# Nothing\n")
        self.passes("doc_blocks.py", "write", "out", "docs/page.md")
        self.assertEqual(list((self.root / "out").iterdir()), [])

    def test_doc_blocks_not_closed(self):
        self.write("docs/page.md", "```cpp\nint x;\n")
        self.caught("docs/page.md:1: the block is not closed", "doc_blocks.py", "write", "out", "docs/page.md")


class headers_alone(planted):
    def verified(self):
        result = self.run_tool("headers_alone.py", "include", compiler, "-std=c++20")
        if result.returncode == 77:
            self.skipTest(result.stdout)
        return result

    def test_headers_alone_one_of_our_own(self):
        self.header("kiln/core/c.hpp", "#define EIGHT 8\ninline int seven() { return 7; }\nstruct nine {};")
        user = "inline int d() { return seven() + EIGHT + int(sizeof(nine)); }"
        self.header("kiln/core/d.hpp", "#include <kiln/core/c.hpp>\n" + user)
        self.header("kiln/core/e.hpp", "#include <kiln/core/d.hpp>\ninline int e() { return seven(); }")
        self.assertEqual(self.verified().returncode, 0)
        for lacking in ("inline int d() { return seven(); }", "inline int d() { return EIGHT; }", "struct d : nine {};"):
            self.header("kiln/core/d.hpp", lacking)
            self.assertIn("core/d.hpp:3", self.verified().stdout)

    def test_headers_alone(self):
        needs_string = "inline std::string name() { return {}; }"
        self.header("kiln/core/c.hpp", "#include <string>\n" + needs_string)
        self.header("kiln/core/d.hpp", "#include <kiln/core/c.hpp>\ninline std::string other() { return name(); }")
        self.assertEqual(self.verified().returncode, 0)
        self.header("kiln/core/b.hpp", needs_string)
        result = self.verified()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("core/b.hpp:3", result.stdout)

    def test_headers_alone_behind_a_condition(self):
        # d.hpp does not bring c.hpp, so it must not be compiled after it.
        self.header("kiln/core/c.hpp", "#include <string>\n")
        self.header("kiln/core/d.hpp", "#ifdef NOWHERE\n#include <kiln/core/c.hpp>\n#endif\ninline std::string s;")
        result = self.verified()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("core/d.hpp:6", result.stdout)

    def test_headers_alone_second_part(self):
        # A first part that lives on what its second part brings, and a second part that lacks something itself.
        second = "\n#ifndef KILN_COMPILED\n#include <kiln/core/c_impl.hpp>\n#endif"
        self.header("kiln/core/c_impl.hpp", "#include <string>\n#include <kiln/core/c.hpp>\ninline std::string s;")
        self.header("kiln/core/c.hpp", "int seven();" + second)
        self.assertEqual(self.verified().returncode, 0)
        self.header("kiln/core/c.hpp", "#ifndef KILN_COMPILED\n#include <kiln/core/c_impl.hpp>\n#endif\ninline std::string t;")
        self.assertIn("core/c.hpp:6", self.verified().stdout)
        self.header("kiln/core/c.hpp", "int seven();" + second)
        self.header("kiln/core/c_impl.hpp", "#include <kiln/core/c.hpp>\ninline std::string s;")
        self.assertIn("core/c_impl.hpp:4", self.verified().stdout)

    def test_headers_alone_include_with_a_comment(self):
        # The words behind an include are not part of the header's name.
        self.header("kiln/core/c.hpp", "#include <string>\n")
        self.header("kiln/core/d.hpp", "#include <kiln/core/c.hpp>  // everything\ninline std::string s;")
        result = self.verified()
        self.assertEqual(result.returncode, 0)
        self.assertIn("5 headers in a module and 1 units", result.stdout)

    def test_headers_alone_from_outside(self):
        # Each only behind those that bring nothing which it would not bring.
        self.header("kiln/core/c.hpp", "#include <string>\n")
        self.header("kiln/core/d.hpp", "#include <map>\ninline std::map<int, int> m;")
        self.header("kiln/core/e.hpp", "#include <kiln/core/c.hpp>\n#include <map>\ninline std::map<int, std::string> m2;")
        result = self.verified()
        self.assertEqual(result.returncode, 0)
        self.assertIn("6 headers in a module and 2 units", result.stdout)
        self.header("kiln/core/e.hpp", "#include <kiln/core/c.hpp>\ninline std::map<int, std::string> m2;")
        self.assertIn("core/e.hpp:4", self.verified().stdout)


class two_units(planted):
    def linked(self, text):
        self.header("kiln/kiln.hpp", text)
        self.write("one.cpp", "#include <kiln/kiln.hpp>\n")
        subprocess.run([compiler, "-std=c++20", "-Iinclude", "-fno-implicit-templates", "-c", "one.cpp", "-o", "one.o"],
                       cwd=self.root, check=True)
        return subprocess.run([compiler, "-r", "-nostdlib", "one.o", "one.o", "-o", "program.o"], cwd=self.root, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_two_units(self):
        self.assertEqual(self.linked("inline int seven() { return 7; }").returncode, 0)
        for planted in ("int seven() { return 7; }", "inline int one() { return 1; }\nint number = one();",
                        "template <class T> T one() { return 1; }\ntemplate <> int one<int>() { return 2; }"):
            self.assertIn("multiple definition", self.linked(planted).stdout)


class compile_cost(unittest.TestCase):
    def setUp(self):
        sys.path.insert(0, str(tools))
        import compile_cost as tool
        self.tool = tool

    def test_compile_cost_straight(self):
        self.assertIsNone(self.tool.not_straight({"deep_1.cpp": 100, "deep_20.cpp": 290, "deep_40.cpp": 500}))

    def test_compile_cost_bent(self):
        self.assertIn("grows with depth", self.tool.not_straight({"deep_1": 100, "deep_20": 290, "deep_40": 900}))

    def test_compile_cost_more(self):
        lines = list(self.tool.compare({"a": 104, "b": 100}, {"a": 100, "b": 100}))
        self.assertEqual([line[0] for line in lines], ["!", " "])

    def test_compile_cost_not_in_the_baseline(self):
        self.assertTrue(list(self.tool.compare({"a": 100}, {}))[0].startswith("!"))

    def test_compile_cost_empty(self):
        with tempfile.TemporaryDirectory() as folder:
            unit = Path(folder) / "unit.cpp"
            unit.write_text("inline int seven() { return 7; }\n")
            self.assertIsNone(self.tool.empty(unit, compiler, "-std=c++20"))
            unit.write_text("extern const int table[1000];\nconst int table[1000] = {1};\n")
            self.assertIn("emits", self.tool.empty(unit, compiler, "-std=c++20"))


if __name__ == "__main__":
    unittest.main()
