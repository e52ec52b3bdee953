#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compiles CUDA texts and looks at the machine code: tools/cuda_lint.py TEXTS PROJECT [ARCHITECTURE...]

For each kernel of TEXTS/*.cu and each architecture: no spills, and no stack but for the return from a call; static shared
memory that a kernel may declare; registers that leave room for half of a multiprocessor's threads (row programs, which
hold their row in registers, excepted), and for all threads in transposes, six of eight blocks in columns; in maps no
instruction that waits for a load of 16 bytes between those of one step: they are to be under way together; and in
reductions of everything four such loads at once, in transposes two. In attention on tensor cores, which may take all
registers, tiles come by cp.async and each ldmatrix feeds several products, else shared memory is slower than they are.
From sm_90 on, where a kernel may be launched before the one before it has ended, it waits for that before it touches
memory. `asked_of_texts` says what rows of half types and their gradients keep to besides. Texts of clusters are for
sm_90 and newer.
Needs NVRTC (KILN_LIBNVRTC, the loader's folders, the toolkit's, or those of Python's wheels), else nvcc (PATH, the
toolkit's folder, or KILN_CUDA_TOOLS=DIR:DIR); no disassembler and no GPU. Exits 77 without either.
Prints one line per breach and exits 1 if there is any.
"""
import ctypes
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

architectures = ["sm_80", "sm_90", "sm_100"]
most_shared, most_stack = 49152, 16
most_registers = {"kiln_transpose_": 32, "kiln_columns_": 40}
least_together = {"kiln_reduce_all_": 4, "kiln_transpose_": 2}
least_products = {r"kiln_attention_forward_\w+_plain$": 3, r"kiln_attention_(forward|backward)_": 1.7}
threads_of_a_multiprocessor, registers_of_a_multiprocessor = 2048, 65536
# By the beginning of a text's name: the most kernels that it may have; of its first one the least loads of 16 bytes that
# are under way together, and the most of all, of loads of 8 bytes and of exchanges between lanes. Leaving out: any.
asked_of_texts = {
    "rows_softmax_": dict(kernels=1, together=4, narrow=0),
    "rows_layer_norm_": dict(kernels=1, together=4, narrow=0),
    "backward_softmax_": dict(kernels=1, together=8, narrow=0),
    "backward_layer_norm_": dict(kernels=2, together=4, narrow=0, exchanges=60),
    "backward_repeated_": dict(kernels=1, together=3, wide=3),
}


class Nvrtc:
    """NVIDIA's compiler as a library, which says with -v what ptxas found."""

    def __init__(self, file):
        # It opens its built-in functions by name, which the loader finds only if they are open or it knows the folder.
        for companion in glob.glob(os.path.dirname(file) + "/libnvrtc-builtins.so.*") if "/" in file else []:
            ctypes.CDLL(companion)
        self.api = ctypes.CDLL(file)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.api.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.name = f"NVRTC {major.value}.{minor.value}"

    def text_of(self, program, size, read):
        count = ctypes.c_size_t()
        size(program, ctypes.byref(count))
        place = ctypes.create_string_buffer(count.value)
        read(program, place)
        return place.raw

    def compile(self, file, architecture, project):
        """The machine code, or None, and what the compiler says."""
        api, program = self.api, ctypes.c_void_p()
        api.nvrtcCreateProgram(ctypes.byref(program), Path(file).read_bytes(), str(file).encode(), 0, None, None)
        options = [b"-std=c++20", b"-arch=" + architecture.encode(), b"--include-path=" + str(project).encode(),
                   b"--ptxas-options=-v"]
        failed = api.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        words = self.text_of(program, api.nvrtcGetProgramLogSize, api.nvrtcGetProgramLog).rstrip(b"\0").decode()
        code = None if failed else self.text_of(program, api.nvrtcGetCUBINSize, api.nvrtcGetCUBIN)
        api.nvrtcDestroyProgram(ctypes.byref(program))
        return code, words


class Nvcc:
    """The same by the toolkit's command."""

    def __init__(self, file):
        self.file, self.name = file, file

    def compile(self, file, architecture, project):
        with tempfile.TemporaryDirectory() as folder:
            cubin = f"{folder}/code.cubin"
            made = subprocess.run([self.file, f"-arch={architecture}", "-cubin", "-Xptxas", "-v", "-std=c++20",
                                   f"-I{project}", str(file), "-o", cubin], capture_output=True, text=True)
            return None if made.returncode else Path(cubin).read_bytes(), made.stdout + made.stderr


def find_compiler():
    """Nvrtc, Nvcc or None."""
    named = os.environ.get("KILN_LIBNVRTC")
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    toolkits = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT") if os.environ.get(name)]
    folders = [""] + [f"{root}/lib64/" for root in toolkits + ["/usr/local/cuda", "/usr/local/cuda-1*"]]
    folders += [f"{packed}/nvidia/{inside}/lib/" for packed in packages for inside in ("cu13", "cuda_nvrtc")]
    names = [f"{folder}libnvrtc.so.{major}" for major in (13, 12) for folder in folders]
    for name in [named] if named else names:
        for file in sorted(glob.glob(name), reverse=True) or [name]:
            try:
                return Nvrtc(file)
            except OSError:
                pass
    tools = os.environ.get("KILN_CUDA_TOOLS", "").split(":") + ["/usr/local/cuda/bin"]
    nvcc = shutil.which("nvcc") or next((found for folder in tools if folder and
                                         (found := shutil.which("nvcc", path=folder))), None)
    return Nvcc(nvcc) if nvcc else None


def functions_of(cubin):
    """name -> machine code as pairs of words of 64 bits: the sections .text.NAME of an ELF file."""
    start, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3a)
    sections = [struct.unpack_from("<IIQQQQ", cubin, start + i * size) for i in range(count)]
    result = {}
    for section in sections:
        at = sections[names][4] + section[0]
        name = cubin[at:cubin.index(b"\0", at)].decode()
        if name.startswith(".text."):
            code = cubin[section[4]:section[4] + section[5]]
            result[name[6:]] = list(struct.iter_unpack("<QQ", code))
    return result


# An instruction has 16 bytes from sm_70 on. Its lowest 12 bits say what it does; of the upper 64, bits 9 to 11 are how
# much a load or store moves, 46 to 48 the scoreboard that tells when its result is there (7: none), 52 to 57 a bit for
# each scoreboard that it waits for.
load, store, leave, meet, exchange = 0x981, 0x986, 0x94d, 0xb1d, 0x89
product, matrix_load, async_copy = 0x23c, 0x83b, 0xfae  # HMMA, LDSM, LDGSTS
eight_bytes, sixteen_bytes = 5, 6
# griddepcontrol.wait; and loads, stores and atomic operations of global memory, or of an address that may be there.
wait_for_grid, of_memory = 0x82e, {load, store, 0x980, 0x985, 0x98e, 0x9a8, 0x3a8, 0x3a9, 0x3ab, 0x38b, 0x3a5, 0x38a}


def is_load(low, high, size):
    return low & 0xfff == load and high >> 9 & 7 == size


def is_wide_load(low, high):
    return is_load(low, high, sixteen_bytes)


def together(instructions):
    """The most wide loads that are under way before an instruction waits for one of them."""
    most, count, boards = 0, 0, set()
    for low, high in instructions:
        if any(high >> 52 & 1 << board for board in boards):
            count, boards = 0, set()
        if is_wide_load(low, high):
            count += 1
            boards.add(high >> 46 & 7)
            most = max(most, count)
    return most


def waits_between_loads(instructions):
    """(load, waiting, next load), each by its place in bytes: an instruction that waits for what a wide load brings
    before the next wide load of the same step is under way."""
    board, waiting = {}, None  # scoreboard -> the wide load whose end it tells
    for number, (low, high) in enumerate(instructions):
        at = 16 * number
        waited = [board.pop(b) for b in list(board) if high >> 52 & 1 << b]
        if waited and waiting is None:
            waiting = (waited[0], at)
        if is_wide_load(low, high):
            if waiting:
                yield waiting[0], waiting[1], at
            waiting = None
            board[high >> 46 & 7] = at
            continue
        board.pop(high >> 46 & 7, None)  # it tells of another one now
        # Results go out, threads meet or end: the step is over.
        if low & 0xfff in (store, leave, meet):
            board, waiting = {}, None


def breaches_of_products(name, instructions):
    """Of a kernel on tensor cores, by name: tiles that do not come by cp.async, too few products for each ldmatrix."""
    count = {kind: sum(low & 0xfff == kind for low, _ in instructions) for kind in (product, matrix_load, async_copy)}
    least = next((least for kind, least in least_products.items() if re.match(kind, name)), None)
    if least is None or not count[product]:
        return
    if not count[async_copy]:
        yield f"{name}: no copies to shared memory by cp.async"
    if count[product] < least * count[matrix_load]:
        yield f"{name}: {count[product]} products for {count[matrix_load]} ldmatrix, fewer than {least} each"


used = re.compile(r"Function properties for (\w+)\s*\n.*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes "
                  r"spill loads\s*\n.*?Used (\d+) registers(.*)")


def touches_memory_first(instructions):
    """Whether memory is touched before the kernel has waited for the one before it, or it does not wait at all."""
    for low, _ in instructions:
        if low & 0xfff == wait_for_grid:
            return False
        if low & 0xfff in of_memory:
            return True
    return True


def breaches_of(cubin, words, allowed, architecture):
    """What is wrong with the kernels of a file, by its machine code and what the compiler said of it."""
    functions, described = functions_of(cubin), set()
    for name, stack, stored, loaded, registers, rest in used.findall(words):
        described.add(name)
        shared = sum(int(bytes) for bytes in re.findall(r"(\d+) bytes smem", rest))
        if int(stack) > most_stack or int(stored) or int(loaded):
            yield f"{name}: {stack} bytes of stack, {stored} of spills stored and {loaded} loaded"
        if shared > most_shared:
            yield f"{name}: {shared} bytes of shared memory, more than {most_shared}"
        for kind, most in most_registers.items():
            if name.startswith(kind) and int(registers) > most:
                yield f"{name}: {registers} registers, more than {most}: fewer blocks run at once"
        threads = registers_of_a_multiprocessor // max(int(registers), 1)
        if threads < threads_of_a_multiprocessor // 2 and not allowed:
            yield f"{name}: {registers} registers leave room for {threads} of {threads_of_a_multiprocessor} threads"
    for name in functions:
        if name.startswith("kiln_") and name not in described:
            yield f"{name}: the compiler said nothing of its registers"
        if name.startswith("kiln_") and int(architecture[3:]) >= 90 and touches_memory_first(functions[name]):
            yield f"{name}: touches memory before it has waited for the kernel before it"
        yield from breaches_of_products(name, functions[name])
        for kind, least in least_together.items():
            if name.startswith(kind) and (most := together(functions[name])) < least:
                yield f"{name}: {most} loads of 16 bytes under way together, not {least}"
        if name.startswith("kiln_map_"):
            for first, waiting, following in waits_between_loads(functions[name]):
                yield (f"{name}: the instruction at {waiting:#x} waits for the load at {first:#x} before that at "
                       f"{following:#x} is under way")
                break


def breaches_of_asked(text, cubin):
    """Where the kernels of a text do not keep to what `asked_of_texts` asks of it."""
    asked = next((rules for start, rules in asked_of_texts.items() if text.name.startswith(start)), None)
    if asked is None:
        return
    functions = functions_of(cubin)
    names = re.findall(r"^using kiln::kernels::(\w+);", text.read_text(), re.M)
    if len(names) > asked["kernels"]:
        yield f"{len(names)} kernels, more than {asked['kernels']}"
    code = functions[names[0]]
    if (most := together(code)) < asked["together"]:
        yield f"{names[0]}: {most} loads of 16 bytes under way together, not {asked['together']}"
    counts = {"wide": ("loads of 16 bytes", sum(is_wide_load(*one) for one in code)),
              "narrow": ("loads of 8 bytes", sum(is_load(*one, eight_bytes) for one in code)),
              "exchanges": ("exchanges between lanes", sum(low & 0xff == exchange for low, high in code))}
    for key, (what, count) in counts.items():
        if count > asked.get(key, count):
            yield f"{names[0]}: {count} {what}, more than {asked[key]}"


def check(texts, project, chosen):
    compiler = find_compiler()
    if compiler is None:
        print("SKIPPED: neither NVRTC nor nvcc is here (KILN_LIBNVRTC names the one, KILN_CUDA_TOOLS the other's folder)")
        sys.exit(77)
    files = sorted(Path(texts).glob("*.cu"))
    breaches = [] if files else [f"{texts}: no texts"]
    wide_loads = dict.fromkeys(chosen, 0)
    # Row programs hold their row in registers, and say so in their launch bounds; attention holds tiles.
    holds_rows = re.compile(r"(warp|block|cluster)_per_row|kernels/attention")
    cases = [(file, architecture) for file in files for architecture in chosen
             if int(architecture[3:]) >= 90 or "__cluster_dims__" not in file.read_text()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = list(pool.map(lambda case: compiler.compile(*case, project), cases))
    for (file, architecture), (cubin, words) in zip(cases, compiled):
        if cubin is None:
            breaches.append(f"{file.name}, {architecture}: does not compile: {words.strip()[:300]}")
            continue
        wide_loads[architecture] += sum(is_wide_load(*one) for code in functions_of(cubin).values() for one in code)
        allowed = bool(holds_rows.search(file.read_text()))
        breaches += [f"{file.name}, {architecture}: {found}"
                     for found in [*breaches_of(cubin, words, allowed, architecture), *breaches_of_asked(file, cubin)]]
    # A new architecture may write its instructions otherwise.
    breaches += [f"{architecture}: no load of 16 bytes was found in any text" for architecture in chosen
                 if files and not wide_loads[architecture]]
    return breaches, f"{len(files)} texts by {compiler.name} for {', '.join(chosen)}"


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    found, what = check(sys.argv[1], sys.argv[2], sys.argv[3:] or architectures)
    print("\n".join(found) or f"cuda_lint: {what} as they should be")
    sys.exit(bool(found))
