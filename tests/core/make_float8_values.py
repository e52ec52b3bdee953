#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes tests/core/float8_values.hpp with ml_dtypes, which has no line in common with kiln.

tests/core/make_float8_values.py > tests/core/float8_values.hpp

Of each type: the values of all 256 patterns, as bits of a float; what the float below, at and above the middle of each
two neighbours from 0 on is rounded to; and what numbers beyond the largest become, where nothing saturates.
"""
import ml_dtypes
import numpy as np

TYPES = {"e4m3fn": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


def rows(name, kind, values, form):
    text = f"inline constexpr {kind} {name}[] = {{\n"
    for i in range(0, len(values), 8):
        text += "    " + ", ".join(form % v for v in values[i : i + 8]) + ",\n"
    print(text + "};")


print("// SPDX-License-Identifier: BSL-1.0")
print(f"// Made by make_float8_values.py with ml_dtypes {ml_dtypes.__version__}.")
print("#pragma once\n\n#include <cstdint>\n\nnamespace float8_values {\n\n// clang-format off")
for name, kind in TYPES.items():
    everything = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32)
    rows(f"{name}_values", "std::uint32_t", everything.view(np.uint32).tolist(), "0x%08xu")
    finite = everything[:128][np.isfinite(everything[:128])]
    middle = ((finite[:-1].astype(np.float64) + finite[1:]) / 2).astype(np.float32)
    near = np.stack([np.nextafter(middle, np.float32(0)), middle, np.nextafter(middle, np.float32(np.inf))], 1)
    rows(f"{name}_rounded", "std::uint8_t", near.ravel().astype(kind).view(np.uint8).tolist(), "0x%02x")
    tie = finite[-1] + (finite[-1] - finite[-2]) / 2
    beyond = np.array([tie, np.nextafter(tie, np.float32(np.inf)), 1e30, np.inf], np.float32)
    rows(f"{name}_beyond", "std::uint32_t", beyond.view(np.uint32).tolist(), "0x%08xu")
    rows(f"{name}_overflow", "std::uint8_t", beyond.astype(kind).view(np.uint8).tolist(), "0x%02x")
print("// clang-format on\n\n}  // namespace float8_values")
