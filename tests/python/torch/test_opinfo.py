"""A tenth of PyTorch's operations by their own samples, another one each day: none gets worse than the board says."""

import datetime
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest
from opinfo_board import entries_of, read_board, shortened

HERE = pathlib.Path(__file__).parent
TENTHS = 10
SECONDS = 600
"""After which no further operation is begun."""


@pytest.mark.skipif(not importlib.util.find_spec("expecttest"), reason="expecttest is not installed")
def test_a_tenth_of_the_operations(tmp_path):
    tenth = datetime.date.today().toordinal() % TENTHS + 1
    out = tmp_path / "exam.jsonl"
    command = [sys.executable, str(HERE / "opinfo_exam.py"), "--gradients", "--samples", "2", "--part", f"{tenth}/{TENTHS}"]
    command += ["--out", str(out), "--quiet", "--seconds", str(SECONDS)]
    path = os.pathsep.join(p for p in sys.path if p)
    subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    found = entries_of([json.loads(line) for line in out.read_text().splitlines()])
    assert found, "the exam has written nothing"
    assert not worse(found, read_board()), "\n".join(worse(found, read_board()))


def worse(found, board):
    """Operations that are wrong or crash, and right ones that no longer are."""
    faults = []
    for (op, mode), entry in sorted(found.items()):
        known = board.get((op, mode))
        fault = entry.kind in ("wrong", "crash") and (known is None or known.kind != entry.kind)
        lost = known is not None and known.kind == "right" and entry.kind not in ("right", "outside", "slow")
        if fault or lost:
            faults.append(f"{op} {mode}: {entry.kind}, {entry.note}")
    return faults


def test_a_board_is_read_as_it_is_written(tmp_path):
    from opinfo_board import page, write_board

    lines = [
        dict(op="add", mode="forward", sample=0, kind="right", note=""),
        dict(op="add", mode="gradients", sample=0, kind="right", note=""),
        dict(op="sub", mode="forward", sample=0, kind="right", note=""),
        dict(op="sub", mode="forward", sample=1, kind="wrong", note="inf"),
    ]
    board = entries_of(lines)
    write_board(board, tmp_path / "board.tsv")
    assert read_board(tmp_path / "board.tsv") == board
    assert (board["sub", "forward"].kind, board["sub", "forward"].right) == ("wrong", 1)
    assert "Results and gradients (1): `add`." in page(board)


def test_what_has_become_worse_is_found():
    def entries(kind):
        return entries_of([dict(op="add", mode="forward", sample=0, kind=kind, note="")])

    assert not worse(entries("right"), entries("right"))
    assert worse(entries("refused"), entries("right")) == ["add forward: refused, "]
    assert worse(entries("wrong"), entries("refused")) == ["add forward: wrong, "]
    assert not worse(entries("refused"), entries("refused"))


def test_a_refusal_is_shortened():
    said = "Case uses what Smelt cannot do: aten.i0.default: no row (in the module itself)"
    assert shortened(said) == "aten.i0.default: no row"
