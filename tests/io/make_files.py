#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes the files of tests/io/files by NumPy, PyTorch and safetensors: make_files.py FOLDER

Element i of an array is i - 2 for signed integers, i for uint8, whether i is odd for bool, (i - 2) * 0.75 for floating
types; the tests compute the same. Made with NumPy 2.4, PyTorch 2.15 and safetensors 0.8.
"""
import sys
from pathlib import Path

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch


def values(dtype, shape):
    n = int(np.prod(shape, dtype=np.int64))
    i = np.arange(n)
    kind = np.dtype(dtype).kind
    flat = i % 2 == 1 if kind == "b" else i if kind == "u" else i - 2 if kind == "i" else (i - 2) * 0.75
    return flat.astype(dtype).reshape(shape)


def main(folder):
    types = ["?", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]
    for code in types:
        name = np.dtype(code).name
        np.save(folder / f"{name}.npy", values(code, (2, 3)))
        if np.dtype(code).itemsize > 1:
            np.save(folder / f"{name}_big.npy", values(">" + code, (2, 3)))
    np.save(folder / "scalar.npy", values("f4", ()))
    np.save(folder / "empty.npy", values("f4", (2, 0, 3)))
    np.save(folder / "fortran.npy", np.asfortranarray(values("i2", (2, 3, 4))))
    np.save(folder / "fortran_big.npy", np.asfortranarray(values(">f8", (3, 2))))
    with open(folder / "version_2.npy", "wb") as file:
        np.lib.format.write_array(file, values("i4", (5,)), version=(2, 0))
    with open(folder / "version_3.npy", "wb") as file:
        np.lib.format.write_array(file, values("i4", (5,)), version=(3, 0))
    np.save(folder / "complex.npy", np.zeros(2, "c8"))
    np.save(folder / "object.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(folder / "record.npy", np.zeros(2, [("a", "f4"), ("b", "i2")]))
    np.save(folder / "uint16.npy", np.zeros(2, "u2"))
    arrays = {np.dtype(code).name: values(code, (2, 3)) for code in types}
    arrays |= {"scalar": values("f4", ()), "empty": values("f4", (2, 0, 3)), "fortran": np.asfortranarray(values("i2", (2, 3, 4)))}
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "deflated.npz", **arrays)
    np.savez(folder / "unnamed.npz", values("f4", (3,)), values("i8", (2,)))
    safetensors.numpy.save_file({k: np.array(v, order="C") for k, v in arrays.items()}, folder / "numpy.safetensors",
                                metadata={"format": "np", "said": "\u00e4 \"quoted\""})
    tensors = {k: torch.from_numpy(np.array(v, order="C")) for k, v in arrays.items()}
    tensors["bfloat16"] = torch.from_numpy(values("f4", (2, 3))).to(torch.bfloat16)
    safetensors.torch.save_file(tensors, folder / "torch.safetensors")
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1, bias=False))
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.from_numpy(values("f4", tuple(p.shape))))
    safetensors.torch.save_file(net.state_dict(), folder / "module.safetensors")
    x = torch.tensor([[1.0, -2.0, 0.5], [4.0, 3.0, -1.0]])
    print("in eval mode, of [[1, -2, 0.5], [4, 3, -1]]:", net.eval()(x).detach().numpy().ravel().tolist())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
