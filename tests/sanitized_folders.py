#!/usr/bin/env python3
"""Prints the folders that the sanitizers examine: sanitized_folders.py TURN PART [--all]

Standard input has the names of changed files, one a line. Printed are folders of the library, which are compiled with the
sanitizers, and folders of tests (they begin with "tests/"), which are compiled and run:

- those of a changed source, and the tests that mirror it: of ir/ops/shape.cpp those of tests/ir/ops or, where that has none,
  of the nearest folder above;
- one of PART of the other folders of tests, and what these mirror;
- one of PART of the other folders of the library.

TURN, the number of a day, shifts both parts. The second moves on when the first has been round once, so within PART * PART days
the tests of every folder have met every folder of the library. With --all all folders are printed."""
import pathlib
import sys

FLOORS = ("runtime", "ir", "passes", "frontend", "codegen", "compiler")
SOURCES = {".h", ".cpp", ".c", ".inc", ".def"}
MIRRORED = {"tests/fake_gpu": "runtime/cuda"}  # tests elsewhere than in the folder of the same name


def folders(tops, pattern):
    """The folders below `tops` with files of this pattern, in the order of their names."""
    files = [file for top in tops for file in pathlib.Path(top).rglob(pattern)]
    return sorted({file.parent.as_posix() for file in files} - {"compiler", "compiler/python"})


def nearest(folder, among):
    """The folder, or the nearest above it, that is one of `among`; None where there is none."""
    above = [folder, *(parent.as_posix() for parent in pathlib.PurePath(folder).parents)]
    return next((each for each in above if each in among), None)


def tests_of(folder, tests):
    """The tests of a folder of the library, with those below them; a floor's own tests alone where nothing is nearer."""
    found = nearest("tests/" + folder, tests)
    inside = found is not None and found.count("/") > 1
    below = [each for each in tests if inside and each.startswith(found + "/")]
    return {found or "tests/compiler", *below, *(test for test, mirrored in MIRRORED.items() if mirrored == folder)}


def mirrored(test, library):
    """The folder of the library whose tests these are, as a set of one; empty where there is none."""
    return {nearest(MIRRORED.get(test, test.removeprefix("tests/")), library)} - {None}


def part_of(names, turn, part):
    return {name for number, name in enumerate(names) if (number + turn) % part == 0}


def chosen(changed, turn, part, library, tests):
    """The folders of the library and of the tests that are examined, as two sets."""
    with_library, with_tests = part_of(library, turn // part, part), part_of(tests, turn, part)
    for test in list(with_tests):
        with_library |= mirrored(test, library)
    for folder in {pathlib.PurePath(name).parent.as_posix() for name in changed if pathlib.PurePath(name).suffix in SOURCES}:
        if folder in tests:
            with_tests.add(folder)
            with_library |= mirrored(folder, library)
        elif folder in library:
            with_library.add(folder)
            with_tests |= tests_of(folder, tests)
    return with_library, with_tests


def main():
    turn, part = int(sys.argv[1]), int(sys.argv[2])
    library = folders(FLOORS, "*.cpp")
    tests = [each for each in folders(["tests"], "*_test.cpp") if each != "tests/gpu"]
    if "--all" in sys.argv:
        part = 1
    for each in chosen(sys.stdin.read().split("\n"), turn, part, library, tests):
        print("\n".join(sorted(each)))


if __name__ == "__main__":
    main()
