#!/usr/bin/env python3
"""Sets operators as Smelt and PyTorch run them side by side, as a Markdown table.

    python3 tests/bench/operators_table.py smelt.jsonl pytorch.jsonl

smelt.jsonl is what `smelt bench tests/bench/operators/*.ir --json` prints (or the FILE.json of its -o), pytorch.jsonl
what operators_pytorch.py writes. All shares are of the bandwidth that Smelt measured for a copy, and of the bytes that
its graph must move.
"""

import json
import sys

VARIANTS = ("eager", "compiled")


def read(path):
    text = open(path).read()
    if text.lstrip().startswith("["):
        return json.loads(text)
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def key(record):
    return record["operator"], record["entry"]


def of_copy(ours, seconds):
    return f"{100 * ours['bytes'] / seconds / ours['copy_bytes_per_s']:.0f}%"


def check_sizes(ours, theirs):
    if abs(ours["bytes"] / theirs.get("bytes", ours["bytes"]) - 1) > 0.02:
        name = " ".join(key(ours))
        sys.exit(f"{name}: Smelt moves {ours['bytes']} bytes and PyTorch {theirs['bytes']}; "
                 "measure both with the same rows and the same precision")


def row(ours, peers):
    cells = [ours["operator"].replace("_", " "), ours["entry"], f"{ours['bytes'] / 2**20:,.0f}",
             f"{ours['seconds'] * 1e6:.1f}", of_copy(ours, ours["seconds"])]
    for variant in VARIANTS:
        theirs = peers.get((variant, *key(ours)))
        if theirs is None:
            cells += ["-", "-"]
            continue
        check_sizes(ours, theirs)
        cells += [f"{theirs['seconds'] * 1e6:.1f}", of_copy(ours, theirs["seconds"])]
    return cells


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    smelt, pytorch = read(sys.argv[1]), read(sys.argv[2])
    peers = {(record["variant"], *key(record)): record for record in pytorch if "error" not in record}
    header = ["operator", "entry", "MiB", "Smelt, us", "of copy"]
    for variant in VARIANTS:
        header += [f"{variant}, us", "of copy"]
    print("| " + " | ".join(header) + " |")
    print("|---|---" + "|---:" * (len(header) - 2) + "|")
    for ours in smelt:
        print("| " + " | ".join(row(ours, peers)) + " |")


if __name__ == "__main__":
    main()
