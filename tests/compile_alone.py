#!/usr/bin/env python3
"""Compiles one source by itself, as far as its syntax: compile_alone.py COMPILE_COMMANDS.json SOURCE"""
import json
import os
import shlex
import subprocess
import sys

database, source = sys.argv[1], os.path.realpath(sys.argv[2])
entry = next((e for e in json.load(open(database)) if os.path.realpath(e["file"]) == source), None)
if entry is None:
    sys.exit(0)  # not part of this build, such as benchmarks
command = shlex.split(entry["command"])
output = command.index("-o")
sys.exit(subprocess.run(command[:output] + command[output + 2:] + ["-fsyntax-only", "-w"], cwd=entry["directory"]).returncode)
