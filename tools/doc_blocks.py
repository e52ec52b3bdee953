#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes programs of the code in the documentation, and checks what they print.

tools/doc_blocks.py write OUT PAGE...    writes each ```cpp block of the pages to OUT/page_number.cpp
tools/doc_blocks.py run PROGRAM TEXT     runs PROGRAM and compares its output with the file TEXT

A block that holds main() is a program as it stands; any other becomes the body of one that includes <kiln/kiln.hpp>
and says `using namespace kiln;`. If the next block before any heading is a ```text block, it is the expected output
(kept in OUT/page_number.txt). #line makes compiler errors point to the page.
"""
import re
import subprocess
import sys
from pathlib import Path

has_main = re.compile(r"^int main\(", re.M)


class block:
    def __init__(self, page, line, kind):
        self.page, self.line, self.kind, self.code, self.output = page, line, kind, [], None


def blocks_of(page, text):
    """The ```cpp blocks of one page, each with the output that the page promises."""
    found, open_block, waiting = [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        if open_block:
            if line.strip() != "```":
                open_block.code.append(line)
                continue
            if open_block.kind == "text" and waiting:
                waiting.output = "\n".join(open_block.code) + "\n"
            waiting = open_block if open_block.kind == "cpp" else None
            found += [waiting] if waiting else []
            open_block = None
        elif line.startswith("```"):
            open_block = block(page, number + 1, line[3:].strip())
        elif line.startswith("#"):
            waiting = None
    if open_block:
        sys.exit(f"{page}:{open_block.line - 1}: the block is not closed")
    return found


def program_of(item):
    """The C++ text of one block."""
    place = f'#line {item.line} "{item.page}"\n'
    if has_main.search("\n".join(item.code)):
        return place + "\n".join(item.code) + "\n"
    # Includes leave the body; an empty line stays behind so that the numbers still fit the page.
    is_include = [line.startswith("#include") for line in item.code]
    head = [f'#line {item.line + at} "{item.page}"\n{line}\n'
            for at, line in enumerate(item.code) if is_include[at]]
    body = "\n".join("" if is_include[at] else line for at, line in enumerate(item.code))
    return (f"#include <kiln/kiln.hpp>\n{''.join(head)}using namespace kiln;\nint main() {{\n{place}{body}\n}}\n")


def write_if_changed(file, text):
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def write(out, pages):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    current = set()
    for page in pages:
        for number, item in enumerate(blocks_of(page, Path(page).read_text()), 1):
            stem = re.sub(r"\W+", "_", page.removesuffix(".md")).strip("_").lower() + f"_{number}"
            write_if_changed(out / f"{stem}.cpp", program_of(item))
            current.add(f"{stem}.cpp")
            if item.output is not None:
                write_if_changed(out / f"{stem}.txt", item.output)
                current.add(f"{stem}.txt")
    for file in out.iterdir():
        if file.name not in current:
            file.unlink()
    print("\n".join(sorted(name for name in current if name.endswith(".cpp"))))


def run(program, text):
    result = subprocess.run([program], text=True, stdout=subprocess.PIPE)
    if result.returncode:
        return f"{program} ended with {result.returncode}\n{result.stdout}"
    printed, promised = ([line.rstrip() for line in words.strip().splitlines()]
                         for words in (result.stdout, Path(text).read_text()))
    if printed != promised:
        return "\n".join(["the page promises:", *promised, "the program prints:", *printed])


if __name__ == "__main__":
    if len(sys.argv) >= 3 and sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 4 and sys.argv[1] == "run":
        sys.exit(run(*sys.argv[2:]))
    else:
        sys.exit(__doc__)
