#!/usr/bin/env python3
"""Writes the reference pages that commands print: generate.py SMELT FOLDER

SMELT is the program, FOLDER the reference folder of a copy of docs/. The pages that the repository keeps (operations, compile
options, environment) are compared with the program by tests, so they are not written here."""

import pathlib
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout


def passes(smelt):
    """The table of all passes, by what they transform."""
    units = {}
    for line in output(smelt, "opt", "--list").splitlines():
        name, unit, need, text = line.split(None, 3)
        units.setdefault(unit, []).append((name, need, text))
    page = "# Passes\n\nMade from `smelt opt --list`. A required pass cannot be left out; `--disable-pass=NAME` leaves out an optional one.\n"
    for unit, rows in units.items():
        page += f"\n## {unit.capitalize()} passes\n\n| pass | required | does |\n|---|---|---|\n"
        page += "".join(f"| `{name}` | {'yes' if need == 'required' else 'no'} | {text} |\n" for name, need, text in rows)
    return page


def command_line(smelt):
    """The help of every command."""
    overview = output(smelt, "--help")
    page = f"# Command line\n\nMade from `smelt --help` and `smelt COMMAND --help`.\n\n```\n{overview.strip()}\n```\n"
    for name in re.findall(r"^  (\w+) {2,}\S", overview[overview.index("Subcommands"):], re.M):
        page += f"\n## {name}\n\n```\n{output(smelt, name, '--help').strip()}\n```\n"
    return page


def main():
    smelt, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    (folder / "passes.md").write_text(passes(smelt))
    (folder / "command_line.md").write_text(command_line(smelt).replace(smelt, "smelt"))


if __name__ == "__main__":
    main()
