#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Turns what the benchmarks wrote into one result file and the table of benchmarks/README.md.

    table.py merge FOLDER IN.json...   writes FOLDER/cpu-PROCESSOR-DATE.json, one compact file of machine, versions and
                                       medians per contest and peer, and prints its name
    table.py compile RESULT.json       adds what seconds.py printed, from standard input
    table.py show RESULT.json          prints the table of that processor
    table.py write FOLDER README       puts the newest result of each processor between the README's two pairs of marks

A row of rows() names the contest, the peer that the target speaks of, and the target. One-thread rows compare processor
time, which a busy neighbour disturbs least; rows about threads compare elapsed time.
"""
import datetime
import glob
import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass

TABLE = "<!-- table: written by scripts/bench -->", "<!-- end of table -->"
COMPILE_TABLE = "<!-- compile table: written by scripts/bench -->", "<!-- end of compile table -->"


@dataclass
class Row:
    work: str
    contest: str  # kiln's entry is contest + "/kiln", unless `entry` names another
    against: str = ""  # a peer of the same contest, or a full name if it holds a "/"
    most: float = 0  # kiln's time over the reference's is at most this ...
    least: float = 0  # ... or the reference's over kiln's at least this
    limit: float = 0  # or kiln's time in microseconds is at most this
    entry: str = ""
    elapsed: bool = False


def rows(products):
    formula = "`relu(a*b+c) - 0.5f*tanh(a)`"
    big = 64 << 20
    table = [
        Row(f"{formula}, 4 Ki", "elementwise/map/4096", "eigen", 1.05),
        Row(f"{formula}, 256 Ki", "elementwise/map/262144", "eigen", 1.05),
        Row(f"{formula}, 64 Mi", f"elementwise/map/{big}", "hand", 1.0),
        Row("`a*b + c - 0.5f*d`, 256 Ki", "elementwise/combine/262144", "hand", 1.05),
        Row("`a*b + c - 0.5f*d`, 64 Mi", f"elementwise/combine/{big}", "hand", 1.0),
        Row(f"sum of {formula} and its three gradients, 4 Ki", "gradient/map/4096", "hand_twice", 1.1),
        Row(f"sum of {formula} and its three gradients, 256 Ki", "gradient/map/262144", "hand_twice", 1.1),
        Row("`(a + row) * col`, [4096,1024]", "elementwise/broadcast", "hand", 1.05),
        Row("`sum(gelu(x*w + b))`, value and gradients, 256 Ki", "gradient/gelu/262144", "hand", limit=300),
        Row("softmax, [4096,1024]", "rows/softmax", "eigen", 1.05),
        Row("layer norm, [4096,1024]", "rows/layer_norm", "eigen", 1.05),
        Row("softmax, backward beside forward", "rows/softmax_gradient", "rows/softmax/kiln", 1.5, entry="kiln_alone"),
        Row("layer norm, backward beside forward", "rows/layer_norm_gradient", "rows/layer_norm/kiln", 1.5,
            entry="kiln_alone"),
        Row("softmax, forward and backward", "rows/softmax_gradient", "torch", least=1),
        Row("layer norm, forward and backward", "rows/layer_norm_gradient", "torch", least=1),
        Row("a user's own norm beside `layer_norm`", "rows/layer_norm", "rows/layer_norm/kiln", 1.2, entry="kiln_own"),
    ]
    for op in ("sum", "mean", "max"):
        for over, text in (("all", "all"), ("rows", "each row"), ("axis0", "axis 0")):
            table.append(Row(f"{op} over {text}, [4096,1024]", f"reductions/{op}/{over}", "hand", 1.1))
    table.append(Row("`a + transpose(b)`, 4096²", "transpose/add", "hand", 1.1))
    table += products
    table += [
        Row("`sigmoid(matmul(W, x) + b)`, 10×1", "small/forward", "hand", limit=0.15),
        Row("the same with backward", "small/backward", "hand", limit=0.6),
        Row("1-10-1 network, one SGD step, batch 1", "small/curve", "hand", limit=2),
        Row("`mnist_mlp` step, batch 64", "mnist_step/1", "torch", least=2),
        Row("`mnist_mlp` step, batch 64, two threads", "mnist_step/2", "torch", least=2, elapsed=True),
    ]
    for work, text, least in (("knossos", "Knossos network", 2), ("cnn", "convolutional network", 1),
                              ("lstm", "LSTM", 1.2), ("block", "transformer block", 1.2)):
        table.append(Row(f"{text}, a step of Adam", f"models/{work}/1", "torch", least=least))
        table.append(Row(f"{text}, a step of Adam, two threads", f"models/{work}/2", "torch", least=least, elapsed=True))
    for work in ("map", "softmax", "product"):
        one, name = f"threads/{work}/kiln_1", {"map": formula + ", 1 Mi", "product": "product, 1024³"}.get(work, work)
        table.append(Row(f"{name}: two threads", f"threads/{work}", one, least=1.8, entry="kiln_2", elapsed=True))
        table.append(Row(f"{name}: two threads, other core taken", f"threads/{work}", one, 1.5, entry="kiln_busy",
                         elapsed=True))
    table.append(Row("Adam, 16 M parameters in 1000 tensors, beside memory", "optim/huge", "memory", 1.11))
    table.append(Row("convolutional network, 256 images a step: two processes", "processes/cnn", "processes/cnn/kiln_1",
                     least=1.8, entry="kiln_2", elapsed=True))
    return table


def product_rows(results):
    """Products of whatever sizes were measured, beside the fastest library called directly, or without the epilogue."""
    found = []
    for name in sorted(results, key=lambda text: [int(n) if n.isdigit() else n for n in re.split(r"(\d+)", text)]):
        contest, _, entry = name.rpartition("/")
        if contest.split("/")[0] not in ("products", "gemm") or entry != "kiln":
            continue
        two = contest.endswith("/2")
        clock = "real_us" if two else "cpu_us"
        if f"{contest}/bare" in results:
            found.append(Row(f"{contest}: beside the bare product", contest, "bare", 1.03, elapsed=two))
            continue
        direct = [peer for peer in ("eigen", "openblas", "onednn") if f"{contest}/{peer}" in results]
        if direct:
            best = min(direct, key=lambda peer: results[f"{contest}/{peer}"][clock])
            found.append(Row(contest, contest, best, 1.03, elapsed=two))
        one = contest[:-1] + "1/kiln"
        if two and one in results:
            found.append(Row(f"{contest}: beside one thread", contest, one, least=1.9, elapsed=True))
    return found


def time_text(us):
    for unit, size in (("s", 1e6), ("ms", 1e3), ("µs", 1.0)):
        if us >= size:
            return f"{us / size:.3g} {unit}"
    return f"{us * 1e3:.3g} ns"


@dataclass
class Measured:
    """A row on one processor."""
    time: str = "–"
    beside: str = "–"  # what the target speaks of, bold if it is missed
    torch: str = ""  # libtorch's time over kiln's


def target_text(row):
    if row.limit:
        return f"≤ {time_text(row.limit)}"
    return f"≥ {row.least:g}× faster" if row.least else f"≤ {row.most:g}×"


def measured(row, results):
    clock = "real_us" if row.elapsed else "cpu_us"
    get = lambda name: results.get(name, {}).get(clock)
    kiln = get(f"{row.contest}/{row.entry or 'kiln'}")
    other = get(row.against if "/" in row.against else f"{row.contest}/{row.against}")
    torch = None if row.entry == "kiln_alone" else get(f"{row.contest}/torch")  # libtorch's does both passes
    if kiln is None:
        return Measured()
    beside, met = "–", None
    if other is not None:
        ratio = other / kiln if row.least else kiln / other
        met = ratio >= row.least if row.least else ratio <= row.most
        beside = f"{ratio:.2f}" + ("" if "/" in row.against else f" {row.against.replace('_', ' ')}")
    if row.limit:
        met = kiln <= row.limit
    return Measured(time_text(kiln), f"**{beside}**" if met is False else beside,
                    "" if torch is None else f"{torch / kiln:.3g}")


def lines(sets):
    """The table of some processors' results: a row for every contest that one of them has."""
    found, targets = {}, {}
    for at, data in enumerate(sets):
        for row in rows(product_rows(data["results"])):
            found.setdefault(row.work, [Measured()] * len(sets))[at] = measured(row, data["results"])
            targets[row.work] = target_text(row)
    head = ["work", "target"]
    for data in sets:
        head += [data["processor"], "beside", "libtorch"]
    body = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for work, cells in found.items():
        body.append("| " + " | ".join([work, targets[work]] + [t for c in cells for t in (c.time, c.beside, c.torch)]) + " |")
    return body + ["", "*beside*: kiln's time over that of what is named, or, where the target says faster, that over "
                   "kiln's; bold where the target is missed. *libtorch*: its time over kiln's."] + [
        "", "Measured: " + "; ".join(f"{d['processor']} ({d['machine']}) {d['date']}, {d['compiler']}, medians of "
                                     f"{d['repetitions']} interleaved rounds" for d in sets) + "."]


def compile_lines(sets):
    for data in sets:
        if "compile" in data:
            yield from [f"{data['processor']}, {data['date']}:", "", *data["compile"], ""]


def newest(folder):
    """The last result of each processor, by name."""
    found = {}
    for file in sorted(glob.glob(f"{folder}/cpu-*.json")):
        data = load(file)
        found[data["processor"]] = data if data["date"] >= found.get(data["processor"], data)["date"] else found[data["processor"]]
    return [found[name] for name in sorted(found)]


def entry_name(entry):
    return re.sub(r"(/iterations:\d+)?/(real|manual)_time(/.*)?$", "", entry["run_name"])


def collect(files):
    """Medians and spreads by contest and entry, how many repetitions there were, and the errors."""
    results, repetitions, errors = {}, 0, {}
    for file in files:
        for entry in load(file)["benchmarks"]:
            name = entry_name(entry)
            if entry.get("error_occurred"):
                errors[name] = entry["error_message"]
                continue
            found = results.setdefault(name, {})
            scale = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}[entry["time_unit"]]
            if entry.get("aggregate_name") == "median":
                found["cpu_us"], found["real_us"] = entry["cpu_time"] * scale, entry["real_time"] * scale
                found.update({key: entry[key] for key in ("bytes", "operations") if key in entry})
                repetitions = max(repetitions, entry["repetitions"])
            elif entry.get("aggregate_name") == "cv":  # spread of the rounds, as a fraction
                found["spread"] = round(entry["real_time" if "manual_time" in entry["run_name"] else "cpu_time"], 4)
    return {k: v for k, v in sorted(results.items()) if "cpu_us" in v}, repetitions, errors


def processor(facts):
    """A name for the processor, from the fields of /proc/cpuinfo."""
    family, model = int(facts.get("cpu family", 0)), int(facts.get("model", 0))
    if facts.get("vendor_id") == "AuthenticAMD":
        if family == 26:
            return "AMD Zen 5"
        if family == 25:  # the models of Zen 4; the others are Zen 3
            return "AMD Zen 4" if 0x10 <= model <= 0x1f or 0x60 <= model <= 0x7f or model >= 0xa0 else "AMD Zen 3"
    elif facts.get("vendor_id") == "GenuineIntel" and family == 6:
        known = {0x55: "Skylake", 0x6a: "Ice Lake", 0x8f: "Sapphire Rapids", 0xad: "Granite Rapids", 0xcf: "Emerald Rapids"}
        if model in known:
            return f"Intel {known[model]}"
    vendor = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}.get(facts.get("vendor_id"), platform.machine())
    return f"{vendor} family {family} model {model}"


def cpuinfo():
    try:
        with open("/proc/cpuinfo") as stream:
            first = stream.read().split("\n\n")[0]
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.split("\n"))}


def merge(folder, files):
    results, repetitions, errors = collect(files)
    for name, words in errors.items():
        sys.exit(f"table.py: {name}: {words}")
    facts = cpuinfo()
    name, date = processor(facts), datetime.date.today().isoformat()
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    out = f"{folder}/cpu-{name.lower().replace(' ', '-')}-{date}.json"
    before = load(out) if os.path.exists(out) else {}
    save(out, {"date": date, "processor": name,
               "machine": f"{facts.get('model name', platform.machine())}, {os.cpu_count()} cores",
               "compiler": compiler, "repetitions": repetitions, "results": results,
               **({"compile": before["compile"]} if "compile" in before else {})})
    print(out)


def save(out, data):
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    with open(out, "w") as stream:
        json.dump(data, stream, indent=1)
        stream.write("\n")


def write(text, readme, marks):
    begin, end = marks
    with open(readme) as stream:
        page = stream.read()
    if begin not in page or end not in page:
        sys.exit(f"table.py: {readme} lacks the lines '{begin}' and '{end}' that the table goes between")
    with open(readme, "w") as stream:
        stream.write(page.split(begin)[0] + begin + "\n" + text + "\n" + end + page.split(end, 1)[1])


def load(file):
    with open(file) as stream:
        return json.load(stream)


def main():
    match sys.argv[1:]:
        case ["merge", folder, *files] if files:
            merge(folder, files)
        case ["compile", result]:
            save(result, {**load(result), "compile": sys.stdin.read().strip().split("\n")})
        case ["show", result]:
            print("\n".join(lines([load(result)])))
        case ["write", folder, readme]:
            sets = newest(folder)
            write("\n".join(lines(sets)), readme, TABLE)
            write("\n".join(compile_lines(sets)).strip(), readme, COMPILE_TABLE)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
