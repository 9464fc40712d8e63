#!/usr/bin/env python3
"""Runs the commands of the pages that begin a reader's way (PAGES), and compares their output with what the pages show.

    tests/docs_test.py SMELT [--python PYTHON] [--page PAGE]...

SMELT is the program; PYTHON is an interpreter that can import `smelt` (PYTHONPATH is inherited). Each page runs in one shell, in a
temporary directory that looks like the root of a built repository: links to the repository's entries, and build/ with links to
those of the program's build directory.

In a page,
- a block ```console has commands, which begin with "$ " and go on in the next line after a backslash, and their output;
- `<!-- file: NAME -->` before a block writes the block to that file, in the directory that the last command left;
- `<!-- not run: REASON -->` before a block leaves it out;
- `<!-- run: COMMAND -->` before a block runs the command after the file is written.

A block with python3 in a command is left out without --python, and one with cmake or c++ if the directory of the program has nothing
to install.

A command fails a page with an exit status other than 0. Every line of output that a page shows must occur in what the block's
commands print, except lines with a digit or "...", because numbers vary by machine."""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "docs/tutorial.md", "docs/architecture.md", "docs/guides/training.md"]
PORT = "8080"  # of the pages; replaced by a free one


class Block:
    def __init__(self, line, language, text, marks):
        self.line, self.language, self.text, self.marks = line, language, text, marks

    def commands(self):
        if "run" in self.marks:
            return [self.marks["run"]]
        if self.language != "console":
            return []
        return re.findall(r"^\$ ((?:.*\\\n)*.*)$", self.text, re.M)

    def shown(self):
        """Lines of output that every machine prints."""
        without = re.sub(r"^\$ (?:.*\\\n)*.*$", "", self.text, flags=re.M)
        return [line for line in without.splitlines() if line.strip() and not re.search(r"\d|\.\.\.", line)]


def blocks(page):
    """The fenced blocks of a page, each with the comments right before it."""
    marks, found, lines = {}, [], page.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        comment = re.fullmatch(r"<!-- ([a-z ]+): (.*) -->", line)
        fence = re.fullmatch(r"```(\w*)", line)
        if comment:
            marks[comment[1]] = comment[2]
        elif fence:
            begin = number
            while lines[number] != "```":
                number += 1
            found.append(Block(begin, fence[1], "\n".join(lines[begin:number]), marks))
            marks, number = {}, number + 1
        elif line.strip():
            marks = {}
    return found


def words(line):
    """The words of a line: the width of a table's columns depends on the numbers in them."""
    return tuple(line.split())


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def make_root(folder, smelt, build, python):
    """Fills `folder` with links, so that commands that a page gives for the root of the repository run in it."""
    for entry in ROOT.iterdir():
        if not re.match(r"build|runs$|\.", entry.name):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    for entry in build.iterdir() if build else []:
        if entry.name != "smelt":
            (folder / "build" / entry.name).symlink_to(entry)
    (folder / "build" / "smelt").symlink_to(smelt)
    (folder / "bin").mkdir()
    (folder / "bin" / "smelt").symlink_to(smelt)
    if python:
        wrapper = folder / "bin" / "python3"
        wrapper.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n')
        wrapper.chmod(0o755)


def left_out(block, build, python):
    """The reason why a block is not run, or None."""
    if "not run" in block.marks:
        return block.marks["not run"]
    commands = " ".join(block.commands())
    if "python3 " in commands and not python:
        return "no Python that can import smelt"
    if re.search(r"cmake --install|c\+\+ ", commands) and not build:
        return "the program is not in a build directory"
    return None


def script(page_blocks, logs, build, python, port):
    """One shell script for all blocks: each command has its output in a file of `logs`, and the first failure ends it."""
    lines = ["trap 'kill $(jobs -p) 2>/dev/null' EXIT  # a server that a failed command leaves"]
    for number, block in enumerate(page_blocks):
        if left_out(block, build, python):
            continue
        if "file" in block.marks:
            content = logs / f"{number}.file"
            content.write_text(block.text + "\n")
            lines.append(f"cp {shlex.quote(str(content))} {shlex.quote(block.marks['file'])} || exit 1")
        for index, command in enumerate(block.commands()):
            source, log = logs / f"{number}.{index}.sh", logs / f"{number}.{index}.log"
            source.write_text(command.replace(PORT, port) + "\n")
            lines.append(f"source {source} >{log} 2>&1 || {{ echo {number}.{index} >{logs}/failed; exit 1; }}")
    return "\n".join(lines) + "\n"


def run_page(name, smelt, build, python):
    """The faults of a page, as texts."""
    page_blocks = blocks((ROOT / name).read_text())
    port, faults = free_port(), []
    with tempfile.TemporaryDirectory() as temporary:
        folder, logs = pathlib.Path(temporary) / "root", pathlib.Path(temporary) / "logs"
        folder.mkdir()
        logs.mkdir()
        make_root(folder, smelt, build, python)
        environment = dict(os.environ, SMELT=str(folder), PATH=f"{folder}/bin:{os.environ['PATH']}", SMELT_CACHE_DIR=f"{temporary}/cache")
        (logs / "all.sh").write_text(script(page_blocks, logs, build, python, port))
        status = subprocess.run(["bash", str(logs / "all.sh")], cwd=folder, env=environment, stdin=subprocess.DEVNULL, timeout=600)
        failed = (logs / "failed").read_text().strip() if (logs / "failed").exists() else ""
        for number, block in enumerate(page_blocks):
            reason = left_out(block, build, python)
            if reason:
                print(f"{name}:{block.line}: not run: {reason}")
            printed = "".join(log.read_text(errors="replace") for log in sorted(logs.glob(f"{number}.*.log")))
            if failed.startswith(f"{number}."):
                faults.append(f"{name}:{block.line}: a command fails: {(logs / (failed + '.sh')).read_text().strip()}\n{printed[-3000:]}")
            elif printed or not failed:
                known = {words(line) for line in printed.replace(port, PORT).splitlines()}
                if block.language == "console" and not reason:
                    faults += [f"{name}:{block.line}: not printed: {line}" for line in block.shown() if words(line) not in known]
        if status.returncode and not failed:
            faults.append(f"{name}: the shell ends with status {status.returncode}")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("smelt", type=pathlib.Path)
    parser.add_argument("--python", default="", help="interpreter that can import smelt; default: those blocks are left out")
    parser.add_argument("--page", action="append", help="page to run; default: " + " and ".join(PAGES))
    options = parser.parse_args()
    smelt = options.smelt.absolute()
    build = smelt.parent if (smelt.parent / "cmake_install.cmake").exists() else None
    python = options.python and (shutil.which(options.python) or sys.exit(f"docs_test: there is no {options.python}"))
    faults = []
    for name in options.page or PAGES:
        begin = time.monotonic()
        faults += run_page(name, smelt, build, python)
        print(f"{name}: {time.monotonic() - begin:.0f} s")
    print("\n".join(faults) or "docs_test: every command runs and prints what the pages show")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
