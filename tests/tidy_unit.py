#!/usr/bin/env python3
"""Runs clang-tidy on one source: tidy_unit.py COMPILE_COMMANDS_DIRECTORY SOURCE CLANG_TIDY [OPTION]...

A source that was clean is not read again until its preprocessed text, .clang-tidy or the options change. What is known to
be clean is kept in $SMELT_TIDY_CACHE (~/.cache/smelt-tidy where it is not set)."""
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

directory, source, tidy = sys.argv[1:4]
options = sys.argv[4:]
root = pathlib.Path(__file__).resolve().parent.parent
known = pathlib.Path(os.environ.get("SMELT_TIDY_CACHE") or pathlib.Path.home() / ".cache" / "smelt-tidy")


def preprocessed():
    """The text that clang-tidy reads, with the names of its files but not the folder of this checkout. Comments within macros are
    left out: headers of Boost make names of files of them."""
    entry = next(e for e in json.load(open(os.path.join(directory, "compile_commands.json"))) if e["file"] == source)
    command = shlex.split(entry["command"])
    output = command.index("-o")
    text = subprocess.run(command[:output] + command[output + 2:] + ["-E", "-C"], cwd=entry["directory"],
                          stdout=subprocess.PIPE, check=True).stdout
    return text.replace(str(root).encode(), b"")


def key():
    version = subprocess.run([tidy, "--version"], stdout=subprocess.PIPE, check=True).stdout
    parts = [preprocessed(), (root / ".clang-tidy").read_bytes(), version, "\0".join(options).encode()]
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


clean = known / key()
if clean.exists():
    sys.exit(0)
status = subprocess.run([tidy, "-p", directory, "--quiet", *options, source]).returncode
if status == 0:
    known.mkdir(parents=True, exist_ok=True)
    clean.touch()
sys.exit(status)
