#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The API reference: what belongs to it, and its examples.

tools/reference.py check PROJECT     names public functions without a doc comment or without an example, and examples of
                                     what is no public function; exits 1 if there is any
tools/reference.py filter HEADER     prints the header with the examples in its doc comments: Doxygen's INPUT_FILTER

Public are the functions of namespace kiln, and the public members of its classes, in the headers that kiln.hpp lists. The
examples stand in docs/reference/examples.cpp, which is compiled by a test: the lines after `// name` are the example of
the function of this name, or of several, `// name other_name`.
"""
import re
import sys
from pathlib import Path

listed = re.compile(r"^#include <kiln/([\w/]+\.hpp)>", re.M)
start_of_example = re.compile(r"^\s*// ((?:operator\S+|\w+)(?: (?:operator\S+|\w+))*)$")
# Classes with public members for users, and names that only the library's own parts call.
public_classes = {"Tensor", "expression_methods", "common_methods", "generator"}
internal = {"apply", "apply_op", "state", "self", "operatordouble", "operatorbool", "accumulation_type", "row_sum", "row_max",
            "shared_among_equal", "philox4x32", "scaled_to", "visit_dtype", "take", "note_moment", "wanted", "in_double", "key", "block", "bits", "adjoints"}
called = re.compile(r"(operator\s*(?:\(\)|[^\s(\w]+|\w+)|(?<![\w:.>~])~?\w+)\s*\(")
no_function = re.compile(r"^(?:using|typedef|namespace|static_assert|extern|friend struct|friend class|public|private|protected)\b")


def public_headers(project):
    """The headers that kiln.hpp lists; of an umbrella, all of its folder."""
    include = Path(project) / "include/kiln"
    for name in listed.findall((include / "kiln.hpp").read_text()):
        if name.endswith("/all.hpp"):
            yield from sorted(file for file in (include / name).parent.glob("*.hpp") if file.name != "all.hpp")
        else:
            yield include / name


def without_arguments(text):
    """Without what stands between < and >."""
    while (shorter := re.sub(r"<[^<>;]*>", " ", text)) != text:
        text = shorter
    return text


def name_of(head):
    """The name of the function that this declaration is of, None if it is of none."""
    text = re.sub(r"//.*", "", head)
    text = re.sub(r"\brequires\b(?:\s*requires)?\s*(?:\([^{};]*?\)\s*)?\{[^}]*\}", " ", text)
    text = without_arguments(text)
    text = re.sub(r"\btemplate\b", " ", text)
    text = re.sub(r"\brequires\s*\((?:[^()]|\([^()]*\))*\)", " ", text)
    text = re.sub(r"\b(?:noexcept|explicit|decltype)\s*\((?:[^()]|\([^()]*\))*\)", " ", text)
    text = " ".join(text.split())
    if no_function.match(text) or re.match(r"(?:inline |constexpr |static )*(?:class|struct|enum|union|concept)\b", text):
        return None
    if (equals := re.search(r"[^=<>!+\-*/&|^]=[^=]", text)) and "(" not in text[:equals.start()]:
        return None
    if re.search(r"::\s*operator", text):  # the definition of a member
        return None
    found = called.search(text)
    return found[1].replace(" ", "") if found and found[1] not in ("requires", "if") else None


def declarations(text):
    """(name, line, whether a doc comment stands before it, classes around it) of each public function."""
    found, scopes, head, head_line, documented, doc = [], [], "", 0, False, False
    access = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("///"):
            doc = True
            continue
        if not bare or bare.startswith(("//", "#")):
            if not bare:
                doc = False
            continue
        code = re.sub(r'"(?:\\.|[^"\\])*"', '""', line)
        code = re.sub(r"'(?:\\.|[^'\\])+'", "0", code).split("//")[0]
        if scopes and scopes[-1] != "body" and re.fullmatch(r"\s*(public|private|protected):\s*", code):
            access[-1] = code.strip(" :\n")
            doc = False
            continue
        position = 0
        for at, character in enumerate(code):
            if "body" in scopes:
                if character == "{":
                    scopes.append("body"), access.append("")
                elif character == "}":
                    scopes.pop(), access.pop()
                    if "body" not in scopes:
                        head, position = "", at + 1
                continue
            if character == "{":
                head += code[position:at]
                position = at + 1
                if not head_line:
                    head_line, documented = number, doc
                flat = " ".join(head.split())
                if space := re.search(r"namespace\s*([\w:]*)$", flat):
                    scopes.append(f"namespace {space[1]}"), access.append("public")
                    head = ""
                elif kind := re.search(r"(?:^|\s)(class|struct)\s+(\w+)[^()]*$", without_arguments(flat)):
                    scopes.append(kind[2]), access.append("private" if kind[1] == "class" else "public")
                    head = ""
                else:
                    found.append((name_of(head), head_line, documented, list(scopes), list(access)))
                    scopes.append("body"), access.append("")
                    head = ""
                head_line, doc = 0, False
            elif character == "}":
                if scopes:
                    scopes.pop(), access.pop()
                head, head_line, position = "", 0, at + 1
            elif character == ";":
                head += code[position:at]
                position = at + 1
                if head.strip():
                    found.append((name_of(head), head_line or number, documented if head_line else doc, list(scopes),
                                  list(access)))
                head, head_line, doc = "", 0, False
        rest = code[position:]
        if "body" not in scopes and rest.strip():
            if not head_line:
                head_line, documented = number, doc
            head += rest + "\n"
    for name, line, has_doc, around, open_to in found:
        spaces = [scope for scope in around if scope.startswith("namespace")]
        classes = [scope for scope in around if not scope.startswith("namespace")]
        if not name or "body" in around or spaces != ["namespace kiln"] or any(a != "public" for a in open_to):
            continue
        if name in internal or name.lstrip("~") in classes or not public_classes.issuperset(classes):
            continue
        yield name, line, has_doc, classes


def examples(project):
    """The lines of the example of each name."""
    found, names = {}, []
    for line in (Path(project) / "docs/reference/examples.cpp").read_text().splitlines():
        if start := start_of_example.match(line):
            names = start[1].split()
            found |= {name: [] for name in names}
        elif not line.strip() or line.startswith("}"):
            names = []
        else:
            for name in names:
                found[name].append(line.strip())
    return found


def check(project):
    shown, known, breaches = examples(project), set(), []
    every = [(header, list(declarations(header.read_text()))) for header in public_headers(project)]
    # A form of a function that is described elsewhere, as a member or of other operands, needs no words of its own.
    described = {name for _, each in every for name, _, has_doc, classes in each if has_doc and not classes}
    for header, each in every:
        documented_here = set()
        for name, line, has_doc, classes in each:
            known.add(name)
            # One comment may stand over several forms of a function.
            if not has_doc and (name, tuple(classes)) not in documented_here and name not in described:
                breaches.append(f"{header}:{line}: {name} has no doc comment")
            documented_here.add((name, tuple(classes)))
            if name not in shown:
                breaches.append(f"{header}:{line}: {name} has no example in docs/reference/examples.cpp")
                shown[name] = []
    breaches += [f"docs/reference/examples.cpp: {name} is no public function" for name in sorted(shown.keys() - known)]
    return breaches


def filtered(header):
    project = Path(__file__).resolve().parent.parent
    shown, text = examples(project), Path(header).read_text()
    lines, added = text.splitlines(), set()
    for name, line, has_doc, classes in sorted(declarations(text), key=lambda found: -found[1]):
        if has_doc and shown.get(name):
            indent = lines[line - 1][:len(lines[line - 1]) - len(lines[line - 1].lstrip())]
            lines[line - 1:line - 1] = [f"{indent}/// {text}".rstrip()
                                        for text in ["@code", *shown[name], "@endcode"]]
    # The words with which a header opens are those of its page; Doxygen shows functions only of files that have one.
    end = next(at for at, line in enumerate(lines) if not line.startswith("//"))
    about = [line.removeprefix("//") for line in lines[1:end]]
    return "\n".join(["/// @file", *(f"///{line}" for line in about), "/// @namespace kiln", "/// All of the library.",
                      *lines[end:]])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "filter"):
        sys.exit(__doc__)
    if sys.argv[1] == "filter":
        print(filtered(sys.argv[2]))
    else:
        result = check(sys.argv[2])
        print("\n".join(result) or "reference: every public function is documented, and has its example")
        sys.exit(bool(result))
