#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Reads what interchange.test.cpp has written, by NumPy, safetensors and PyTorch: interchange.py FOLDER

Every bit is compared with what make_files.py computes. Ends with 77 where NumPy is not installed, and says what else
is not.
"""
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(77)

TYPES = {"bool": "?", "uint8": "u1", "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "float16": "f2",
         "float32": "f4", "float64": "f8"}


def values(dtype, shape):
    i = np.arange(int(np.prod(shape, dtype=np.int64)))
    kind = np.dtype(dtype).kind
    flat = i % 2 == 1 if kind == "b" else i if kind == "u" else i - 2 if kind == "i" else (i - 2) * 0.75
    return flat.astype(dtype).reshape(shape)


def same(what, got, wanted):
    if got.dtype != wanted.dtype or got.shape != wanted.shape or got.tobytes() != wanted.tobytes():
        sys.exit(f"{what}: {got.dtype} {got.shape} {got!r} instead of {wanted!r}")


def main(folder):
    for name, code in TYPES.items():
        same(name, np.load(folder / f"{name}.npy"), values(code, (2, 3)))
    same("scalar", np.load(folder / "scalar.npy"), values("f4", ()))
    same("empty", np.load(folder / "empty.npy"), values("f4", (2, 0, 3)))
    wanted = {name: values(code, (2, 3)) for name, code in TYPES.items()}
    wanted |= {"scalar": values("f4", ()), "empty": values("f4", (2, 0, 3))}
    for archive in ["stored.npz", "deflated.npz"]:
        with np.load(folder / archive) as arrays:
            if set(arrays.files) != set(wanted):
                sys.exit(f"{archive}: {arrays.files}")
            for name in arrays.files:
                same(f"{archive}: {name}", arrays[name], wanted[name])
    print("numpy", np.__version__)
    try:
        import safetensors.numpy
    except ImportError:
        print("safetensors is not installed: its files were not read")
        return
    arrays = safetensors.numpy.load_file(folder / "numpy.safetensors")
    if set(arrays) != set(wanted):
        sys.exit(f"numpy.safetensors: {list(arrays)}")
    for name, got in arrays.items():
        same(f"numpy.safetensors: {name}", got, wanted[name])
    with safetensors.safe_open(folder / "numpy.safetensors", "np") as file:
        if file.metadata() != {"said": "\u00e4 \"quoted\""}:
            sys.exit(f"numpy.safetensors: metadata {file.metadata()}")
    print("safetensors", safetensors.__version__)
    try:
        import safetensors.torch
        import torch
    except ImportError:
        print("torch is not installed: it read nothing")
        return
    tensors = safetensors.torch.load_file(folder / "torch.safetensors")
    if not torch.equal(tensors["bfloat16"], torch.from_numpy(values("f4", (2, 3))).to(torch.bfloat16)):
        sys.exit(f"torch.safetensors: {tensors['bfloat16']}")
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.BatchNorm1d(2))
    net.load_state_dict(safetensors.torch.load_file(folder / "module.safetensors"))
    same("module.safetensors", net[0].weight.detach().numpy(), values("f4", (2, 3)))
    print("torch", torch.__version__)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
