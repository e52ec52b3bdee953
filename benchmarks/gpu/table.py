#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Turns what scripts/gpu measured into one result file and the table of benchmarks/gpu.md.

    table.py merge FOLDER IN.json...     writes FOLDER/gpu-DEVICE-DATE.json and prints its name
    table.py show RESULT.json            prints the table
    table.py write RESULT.json PAGE      replaces what stands between the page's two table marks

A row is one contest and one target. Targets beside "copy" are shares of the bandwidth that a copy of as many bytes on
the same device reached in the same run.
"""
import datetime
import importlib.util
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("peers_table", os.path.join(HERE, "..", "peers", "table.py"))
common = importlib.util.module_from_spec(spec)
spec.loader.exec_module(common)

MARKS = "<!-- table: written by scripts/gpu -->", "<!-- end of table -->"
PEERS = {"torch": "PyTorch", "torch_compile": "torch.compile", "jax": "JAX", "cupy": "CuPy"}
ROWS = ("softmax", "layer_norm", "rms_norm", "logsumexp")


def targets(contest):
    """(reference, how, limit): "share" of the copy's bandwidth, at least; "faster" than the reference, at least;
    "slower" than it, at most; "time" in microseconds, at most. A reference with a / is a full name."""
    kind = contest.split("/")[0]
    if kind in ("map", "multiply_add", "map_gradient"):
        return [("copy", "share", 0.93)]
    if kind in ROWS:
        return [("copy", "share", 0.9), ("torch_compile", "faster", 1)]
    if kind == "sum":
        return [("copy", "share", 0.9)]
    if kind.startswith("transpose"):
        return [("copy", "share", 0.85)]
    if kind == "embedding":
        return [("copy", "share", 0.85 if contest.endswith("forward") else 0.7), ("torch", "faster", 1)]
    if kind == "chain":
        stream = contest.replace("/graph/", "/stream/")
        return [("torch", "faster", 2)] if contest == stream else [(f"{stream}/kiln", "faster", 1)]
    if kind == "product":
        return [("cublaslt", "slower", 1.02)]
    if kind == "attention":
        return [("torch", "faster", 1)]
    if contest.startswith("mlp/eager"):
        return [("torch", "faster", 2)]
    if contest.startswith("mlp/graph"):
        return [("mlp/eager/64/torch_compile", "faster", 1)]
    if kind == "launch":
        return [("torch", "faster", 3)]
    return [("", "time", {"compile/map": 60e3, "compile/rows": 100e3, "compile/disk": 2e3}.get(contest, 0))]


def rate(result):
    if "bytes" in result:
        return f"{result['bytes'] / result['real_us'] / 1e3:.0f} GB/s"
    if "operations" in result:
        return f"{result['operations'] / result['real_us'] / 1e6:.3g} TFLOP/s"
    return ""


def row(results, contest, reference, how, limit):
    kiln = results.get(f"{contest}/kiln")
    full = reference if "/" in reference else f"{contest}/{reference}"
    time, other = (results[name]["real_us"] if name in results else None for name in (f"{contest}/kiln", full))
    ratio = other / time if time and other else None
    peer = PEERS.get(reference.split("/")[-1], full)
    target = {"share": f"≥ {limit:g} of copy", "faster": f"≥ {limit:g}× faster than {peer}",
              "slower": f"≤ {limit:g}× cuBLASLt", "time": f"≤ {common.time_text(limit)}"}[how]
    if how == "time":
        figure, met = "", None if time is None else time <= limit
    elif ratio is None:
        figure, met = "–", None
    elif how == "slower":
        figure, met = f"{1 / ratio:.3f}×", 1 / ratio <= limit
    else:
        figure, met = (f"{ratio:.2f}" if how == "share" else f"{ratio:.2f}×"), ratio >= limit
    text = lambda entry: common.time_text(entry["real_us"]) if entry else "–"
    source = "mlp/eager/64" if contest.startswith("mlp/graph") else contest.replace("chain/graph", "chain/stream")
    cells = [contest, text(kiln), rate(kiln) if kiln else "–", target, figure,
             "–" if met is None else "pass" if met else "**miss**"]
    return "| " + " | ".join(cells + [text(results.get(f"{source}/{peer}")) for peer in PEERS]) + " |"


def lines(data):
    results, errors = data["results"], data["errors"]
    head = ["| work | kiln | rate | target | figure | met | " + " | ".join(PEERS.values()) + " |", "|---" * 10 + "|"]
    contests = {name.rpartition("/")[0]: None for name in data["order"] if name.endswith("/kiln")}
    body = [row(results, contest, *target) for contest in contests for target in targets(contest)]
    about = [f"{data['date']}, {data['device']}; medians of {data['repetitions']} batches; "
             + ", ".join(f"{key} {value}" for key, value in data["versions"].items()) + "."]
    missing = [PEERS[peer] for peer in PEERS if not any(name.endswith("/" + peer) for name in results)]
    if missing:
        about.append(f"Not measured: {', '.join(missing)}.")
    if data["left_out"]:
        about.append(f"Left out for want of time: {len(data['left_out'])} figures of peers.")
    about += [f"- `{name}`: {words.splitlines()[0][:200]}" for name, words in errors.items()]
    return head + body + [""] + about


def merge(folder, files):
    results, repetitions, errors = common.collect(files)
    versions, left_out, order = {}, [], []
    for file in files:
        loaded = common.load(file)
        order += [common.entry_name(entry) for entry in loaded["benchmarks"]]
        for key, value in loaded["context"].items():
            if key == "left_out":
                left_out += value
            elif key in ("device", "architecture", "driver", "nvrtc", "cublaslt", "torch", "jax", "cupy"):
                versions[key] = value
    device, date = versions.pop("device", "unknown device"), datetime.date.today().isoformat()
    name = re.sub("[^a-z0-9]+", "-", device.lower()).strip("-")
    out = os.path.join(folder, f"gpu-{name}-{date}.json")
    common.save(out, {"date": date, "device": device, "versions": versions, "repetitions": repetitions,
                      "order": list(dict.fromkeys(order)), "left_out": left_out, "errors": errors, "results": results})
    print(out)


def main():
    match sys.argv[1:]:
        case ["merge", folder, *files] if files:
            merge(folder, files)
        case ["show", result]:
            print("\n".join(lines(common.load(result))))
        case ["write", result, page]:
            common.write("\n".join(lines(common.load(result))), page, MARKS)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
