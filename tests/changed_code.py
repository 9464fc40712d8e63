#!/usr/bin/env python3
"""Prints the files that differ from a commit by more than comments: changed_code.py COMMIT.

Untracked files are included. A C++ file is left out if its lines without comments are those that it has in COMMIT, there perhaps
in another folder or by another name. The text
of *.cuh is part of plans, so all changes of it count."""
import pathlib
import re
import subprocess
import sys

CPP = {".h", ".cpp", ".c", ".inc", ".def"}
# A comment, or a token that may contain the characters of one: a text, a character, or a number with separators.
TOKEN = re.compile(r"""(?P<comment>//(?:[^\n\\]|\\.)*|/\*.*?\*/)
                       |R"([^(\n]*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|\d(?:'?[\da-fA-F])+|'(?:\\.|[^'\\\n])+'""", re.S | re.X)


def git(*arguments):
    return subprocess.run(["git", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="surrogateescape").stdout


def code(text):
    """The lines of a text without comments, white space at their ends, and empty lines."""
    bare = TOKEN.sub(lambda token: "" if token["comment"] else token[0], text)
    return [line.rstrip() for line in bare.splitlines() if line.strip()]


def same_code(commit, old_name, name):
    if pathlib.PurePath(name).suffix not in CPP or not pathlib.Path(name).is_file():
        return False
    before = git("show", f"{commit}:{old_name}")
    return bool(before) and code(before) == code(pathlib.Path(name).read_text(errors="surrogateescape"))


def main():
    commit = sys.argv[1]
    for line in git("diff", "--name-status", "--find-renames", commit).splitlines():
        _, old_name, *moved_to = line.split("\t")
        name = moved_to[0] if moved_to else old_name
        if not same_code(commit, old_name, name):
            print(name)
    print(git("ls-files", "-o", "--exclude-standard"), end="")


if __name__ == "__main__":
    main()
