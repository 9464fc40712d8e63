#!/usr/bin/env python3
"""Writes the tables of docs/bench/benchmarks.md from the result files in docs/bench/results: tables.py [--check]

A table of the page stands between `<!-- results/NAME.csv -->` and `<!-- end -->`. The first row of a file has the headings; a heading that
begins with ">" is of a column that is aligned to the right. --check writes nothing and fails where the page differs."""

import csv
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE / "benchmarks.md"
TABLE = re.compile(r"(<!-- (results/[\w.-]+\.csv) -->\n).*?(<!-- end -->)", re.S)


def table(path):
    """The rows of a file in Markdown."""
    with open(path, newline="", encoding="utf-8") as file:
        heads, *rows = csv.reader(file)
    lines = [[head.lstrip(">") for head in heads], ["---:" if head.startswith(">") else "---" for head in heads], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def main():
    text = PAGE.read_text(encoding="utf-8")
    named = {match[2] for match in TABLE.finditer(text)}
    unused = {f"results/{path.name}" for path in (HERE / "results").glob("*.csv")} - named
    if unused:
        sys.exit(f"{PAGE.name} shows no table of {', '.join(sorted(unused))}")
    made = TABLE.sub(lambda match: match[1] + table(HERE / match[2]) + match[3], text)
    if "--check" not in sys.argv:
        PAGE.write_text(made, encoding="utf-8")
    elif made != text:
        sys.exit(f"{PAGE.name} differs from its result files: run docs/bench/tables.py")


if __name__ == "__main__":
    main()
