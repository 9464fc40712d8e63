#!/usr/bin/env python3
"""The board of the exam: a line for each operation, and the page of it in the documentation.

Example, after two parts of the exam:
    python3 tests/python/torch/opinfo_board.py part1.jsonl part2.jsonl
rewrites tests/python/torch/opinfo_board.tsv and docs/reference/pytorch_operations.md. Where an operation is in several files, the
last one counts; operations that are in none keep their lines.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys
from collections import defaultdict
from dataclasses import dataclass

HERE = pathlib.Path(__file__).parent
BOARD = HERE / "opinfo_board.tsv"
PAGE = HERE.parents[2] / "docs" / "reference" / "pytorch_operations.md"
WORST_FIRST = ("crash", "wrong", "slow", "refused", "right", "outside")
MODES = ("forward", "gradients")


@dataclass(frozen=True)
class Entry:
    """The outcome of an operation's samples in one mode."""

    kind: str
    """The worst kind of a sample; samples outside of the exam count where there are no others."""
    right: int
    examined: int
    note: str
    """The note of the first sample of that kind."""


# ---- the board


def entries_of(lines: list[dict]) -> dict[tuple[str, str], Entry]:
    """From lines of the exam, by operation and mode."""
    grouped: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for line in lines:
        grouped[line["op"], line["mode"]].append(line)
    return {key: _entry(found) for key, found in grouped.items()}


def _entry(lines: list[dict]) -> Entry:
    worst = min(lines, key=lambda line: WORST_FIRST.index(line["kind"]))
    examined = [line for line in lines if line["kind"] != "outside"]
    right = sum(line["kind"] == "right" for line in examined)
    return Entry(worst["kind"], right, len(examined), shortened(worst["note"]))


def shortened(note: str) -> str:
    """A refusal without what all of them have."""
    note = re.sub(r"^Case uses what Smelt cannot do: ", "", note)
    note = re.sub(r"^Case cannot be exported: ", "cannot be exported: ", note)
    note = re.sub(r" ?\(in the module itself\).*| PyTorch says:.*", "", note)
    return re.sub(r"\s+", " ", note)[:160].strip()


def read_board(path: pathlib.Path = BOARD) -> dict[tuple[str, str], Entry]:
    if not path.exists():
        return {}
    rows = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    return {(op, mode): Entry(kind, int(right), int(all_), note) for op, mode, kind, right, all_, note in rows}


def write_board(board: dict[tuple[str, str], Entry], path: pathlib.Path = BOARD) -> None:
    lines = ["# operation\tmode\tkind\tright samples\texamined samples\tnote; written by opinfo_board.py"]
    for (op, mode), e in sorted(board.items()):
        lines.append("\t".join([op, mode, e.kind, str(e.right), str(e.examined), e.note]))
    path.write_text("\n".join(lines) + "\n")


# ---- the page


def page(board: dict[tuple[str, str], Entry]) -> str:
    parts = [HEAD, _counts(board)]
    parts += [_section(board, "Right", "right"), _refusals(board), _faults(board), _outside(board)]
    return "\n\n".join(part for part in parts if part) + "\n"


HEAD = """# Operations of PyTorch

This page is written by `tests/python/torch/opinfo_board.py` from the exam's results; do not edit it.

The exam takes PyTorch's own sample inputs of its operations (`torch.testing`, OpInfo) in float32, compiles each sample as a
module, and compares results and gradients with those of eager PyTorch: the relative error of each tensor is at most 1e-4, or
ten times the error of PyTorch's own float32 next to its float64, and NaNs and infinities are at the same places. An operation
is right when all of its samples that were examined are right. To repeat it:

    pip install expecttest
    PYTHONPATH=build/python build/python-venv/bin/python tests/python/torch/opinfo_exam.py --gradients --samples 2 --out exam.jsonl
    python3 tests/python/torch/opinfo_board.py exam.jsonl"""


def _counts(board: dict[tuple[str, str], Entry]) -> str:
    lines = ["| | " + " | ".join(MODES) + " |", "|---|---:|---:|"]
    for kind in ("right", "refused", "wrong", "crash", "slow", "outside"):
        numbers = [sum(e.kind == kind for (_, m), e in board.items() if m == mode) for mode in MODES]
        lines.append(f"| {kind} | {numbers[0]} | {numbers[1]} |")
    return "\n".join(lines)


def _names(board: dict[tuple[str, str], Entry], kind: str) -> dict[str, list[str]]:
    """Operations of a kind, with the modes in which they are of it."""
    found: dict[str, list[str]] = defaultdict(list)
    for (op, mode), e in sorted(board.items()):
        if e.kind == kind:
            found[op].append(mode)
    return found


def _section(board: dict[tuple[str, str], Entry], title: str, kind: str) -> str:
    names = _names(board, kind)
    both = [op for op, modes in names.items() if len(modes) == 2]
    only = [op for op, modes in names.items() if modes == ["forward"]]
    last = [op for op, modes in names.items() if modes == ["gradients"]]
    lines = [f"## {title}", _wrapped("Results and gradients", both), _wrapped("Results alone", only)]
    return "\n\n".join(x for x in [*lines, _wrapped("Gradients alone", last)] if x)


def _wrapped(title: str, names: list[str]) -> str:
    return f"{title} ({len(names)}): " + ", ".join(f"`{n}`" for n in names) + "." if names else ""


def _by_reason(board: dict[tuple[str, str], Entry], kind: str) -> list[tuple[str, list[str]]]:
    reasons: dict[str, set[str]] = defaultdict(set)
    for (op, _), e in board.items():
        if e.kind == kind:
            reasons[e.note].add(op)
    return sorted(((why, sorted(ops)) for why, ops in reasons.items()), key=lambda pair: (-len(pair[1]), pair[0]))


def _table(title: str, rows: list[tuple[str, list[str]]]) -> str:
    if not rows:
        return ""
    lines = [f"## {title}", "", "| reason | operations |", "|---|---|"]
    lines += [f"| {why.replace('|', '/')} | {', '.join(f'`{op}`' for op in ops)} |" for why, ops in rows]
    return "\n".join(lines)


def _refusals(board: dict[tuple[str, str], Entry]) -> str:
    return _table("Refused, at least for one sample, and why", _by_reason(board, "refused"))


def _faults(board: dict[tuple[str, str], Entry]) -> str:
    rows = [(f"{kind}: {why}", ops) for kind in ("wrong", "crash", "slow") for why, ops in _by_reason(board, kind)]
    return _table("Faults", rows)


def _outside(board: dict[tuple[str, str], Entry]) -> str:
    return _table("Not examined, and why", _by_reason(board, "outside"))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="files of opinfo_exam.py --out; none: write the page again")
    parser.add_argument("--board", type=pathlib.Path, default=BOARD, help="the board (default: opinfo_board.tsv here)")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE, help="the page (default: docs/reference/pytorch_operations.md)")
    options = parser.parse_args(arguments)
    board = read_board(options.board)
    for file in options.files:
        board.update(entries_of([json.loads(line) for line in pathlib.Path(file).read_text().splitlines()]))
    write_board(board, options.board)
    options.page.write_text(page(board))
    print(_counts(board))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
