#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the include graph of a header tree: tools/layers.py include

A folder may include only folders to its left in `order`, and its own; within a device, a room only `rooms` to its left. The graph of files has no cycle. Headers for
users (those straight in kiln/, and a folder's all.hpp) are not included from inside their own folder; nothing includes
kiln.hpp, and kiln.hpp reaches all headers but those of CUDA, k, c, the transforms, models, linalg and Eigen's objects. Only
device/eigen, linalg, tensor/eigen.hpp, which exchanges data with Eigen's objects, and k/decompositions_impl.hpp include Eigen.
Prints one line per breach and exits 1 if there is any.
"""
import re
import sys
from pathlib import Path

# Left to right; names in one group do not see each other.
order = [["core"], ["tape"], ["ops"], ["expr"], ["device/common"], ["device/cpu", "device/cuda"], ["device/eigen"], ["tensor"], ["autograd"], ["linalg"], ["transform"], ["nn"],
         ["optim"], ["io"], ["data"], ["distributed"], ["dynamic"]]
# The rooms of a device's folder, in the order of the data's way: a header sees its own room and those to its left.
rooms = {"device/cuda": ["driver", "memory", "plan", "print", "compile", "run", "libraries", "cudnn"],
         "device/cpu": ["processor", "simd", "memory", "threads", "elements", "kernel", "maps", "rows", "interpreter",
                        "products", "images"]}
rank = {folder: place for place, group in enumerate(order) for folder in group}
eigen_exchange = ("kiln/eigen.hpp", "kiln/tensor/eigen.hpp", "kiln/k/decompositions_impl.hpp", "kiln/tensor/eigen_cpu.hpp",
                  "kiln/device/eigen/", "kiln/linalg")  # optional
beside = ("k", "c")  # bindings for other languages: they see all layers, and headers for users
optional = ("kiln/cuda.hpp", "kiln/float8.hpp", "kiln/cuda_float8.hpp", "kiln/core/float8.hpp", "kiln/tensor/float8.hpp",
            "kiln/device/cuda/", "kiln/tensor/cuda", "kiln/nn/functional/cuda", "kiln/k.hpp", "kiln/k/", "kiln/c.h", "kiln/c_api.hpp", "kiln/c/", "kiln/dynamic", "kiln/transform", "kiln/tape/tangent.hpp", "kiln/expr/tangent.hpp",
            "kiln/optim", "kiln/core/storage_part.hpp", "kiln/core/slot_table.hpp", *eigen_exchange, "kiln/nn.hpp",
            "kiln/tensor/turned.hpp", "kiln/data", "kiln/io", "kiln/distributed", "kiln/ops/text.hpp",
            "kiln/nn/functional/attention", "kiln/device/cpu/products/attention.hpp", "kiln/nn/functional/lstm.hpp", "kiln/device/cpu/products/lstm.hpp")  # outside kiln.hpp


def is_optional(header):
    """Outside kiln.hpp; of nn, all but the functions: who builds no models compiles none."""
    return header.startswith(optional) or (header.startswith("kiln/nn/") and not header.startswith("kiln/nn/functional/"))


include_line = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def folder_of(header):
    """kiln/device/cpu/simd/x.hpp -> device/cpu (a subfolder is part of its layer); kiln/kiln.hpp -> "" (for users)."""
    folder = "/".join(header.split("/")[1:-1])
    return next((layer for layer in rank if f"{folder}/".startswith(f"{layer}/")), folder)


def room_of(header, folder):
    """kiln/device/cpu/simd/x.hpp -> simd; what stands straight in a device's folder is above all rooms: ""."""
    return header.removeprefix(f"kiln/{folder}/").rpartition("/")[0].partition("/")[0]


def breach_of_rooms(folder, header, path):
    """Whether a header of a device's folder looks into a room to its right."""
    order_here = rooms[folder]
    here, there = room_of(header, folder), room_of(path, folder)
    for room in filter(None, (here, there)):
        if room not in order_here:
            return f"includes <{path}>: the room {room} has no place in the order of tools/layers.py"
    if here and (not there or order_here.index(there) > order_here.index(here)):
        return f"includes <{path}>: in {folder} the order is {' -> '.join(order_here)} -> what stands in none"
    return ""


def includes(text):
    """(quote, path, line) of each include; those behind #if count too."""
    for found in include_line.finditer(text):
        if " " in found[2]:  # a sentence where there is no file, which stops a compiler
            continue
        yield found[1], found[2], text.count("\n", 0, found.start()) + 1


def breaches_of_line(header, quote, path, known):
    """What is wrong with one include, in words."""
    here, there = folder_of(header), folder_of(path)
    if re.match(r"(Eigen|unsupported/Eigen)/", path) and not header.startswith(eigen_exchange):
        yield f"includes <{path}>: only device/eigen, linalg, {eigen_exchange[1]} and {eigen_exchange[2]} know Eigen"
    if quote == '"':
        yield f'includes "{path}": write <kiln/...>, so that it means the same from everywhere'
    if not path.startswith("kiln/"):
        return
    if path not in known:
        yield f"includes <{path}>, which does not exist"
    elif path == "kiln/kiln.hpp" and header not in ("kiln/cuda.hpp", "kiln/eigen.hpp", "kiln/float8.hpp"):
        yield "includes the umbrella <kiln/kiln.hpp>: name the headers that are needed"
    elif here and not there and here not in beside:
        yield f"includes <{path}>, which is for users: name the headers that are needed"
    elif here == there and here in rooms and (words := breach_of_rooms(here, header, path)):
        yield words
    elif path.endswith("/all.hpp") and header.startswith(path.removesuffix("all.hpp")):
        yield f"includes <{path}>, the umbrella of its own folder"
    elif here in rank and here != there and not (there in rank and rank[there] < rank[here]):
        yield f"includes <{path}>: {here} stands left of {there} or beside it ({' -> '.join(map(','.join, order))})"


def whole(graph):
    """The same of headers in one piece: with the second part that one ends with."""
    def first(header):
        return next((one for one in [header.removesuffix("_impl.hpp") + ".hpp"] if header in graph.get(one, ())), header)

    joined = {}
    for header, targets in graph.items():
        joined.setdefault(first(header), []).extend(first(t) for t in targets if first(t) != first(header))
    return joined


def cycles(graph):
    """Each include cycle once, as the list of its files."""
    state, stack, found = {}, [], []

    def visit(node):
        state[node] = "open"
        stack.append(node)
        for target in graph[node]:
            if state.get(target) == "open":
                found.append(stack[stack.index(target):] + [target])
            elif target in graph and target not in state:
                visit(target)
        stack.pop()
        state[node] = "done"

    for node in sorted(graph):
        if node not in state:
            visit(node)
    return found


def reached(graph, start):
    seen, todo = set(), [start]
    while todo:
        node = todo.pop()
        if node in graph and node not in seen:
            seen.add(node)
            todo += graph[node]
    return seen


def check(root):
    files = sorted([*Path(root).glob("kiln/**/*.hpp"), *Path(root).glob("kiln/*.h")])
    texts = {str(file.relative_to(root)): file.read_text() for file in files}
    graph = {header: [path for _, path, _ in includes(text)] for header, text in texts.items()}
    breaches = [] if texts else [f"{root}: no headers under kiln/"]
    for header, text in texts.items():
        folder = folder_of(header)
        if folder and folder not in beside and folder not in rank:
            breaches.append(f"{header}: the folder {folder} has no place in the order of tools/layers.py")
        for quote, path, line in includes(text):
            breaches += [f"{header}:{line}: {words}" for words in breaches_of_line(header, quote, path, texts)]
    breaches += ["cycle: " + " -> ".join(cycle) for cycle in cycles(whole(graph))]
    breaches += [f"kiln/kiln.hpp reaches {header}, which must stay optional"
                 for header in sorted(reached(graph, "kiln/kiln.hpp")) if is_optional(header)]
    if "kiln/kiln.hpp" in texts:
        left_out = texts.keys() - reached(graph, "kiln/kiln.hpp")
        breaches += [f"{header}: kiln/kiln.hpp does not reach it" for header in sorted(left_out)
                     if not is_optional(header)]
    return breaches


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    result = check(sys.argv[1])
    print("\n".join(result) or "layers: in order")
    sys.exit(bool(result))
