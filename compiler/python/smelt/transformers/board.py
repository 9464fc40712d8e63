"""The board of the exam: counts, and the page of the documentation."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from typing import Any, Iterable, Mapping, Sequence

import torch

from .classes import Folder
from .results import Line, kind

Lines = Mapping[str, Line]
SHOWN = ("right", "no loss", "not exported", "not built", "refused", "empty", "slow", "wrong", "crash")
"""Outcomes in the order of the table's rows."""
ALWAYS = ("right", "refused", "wrong")
WORST_FIRST = ("crash", "wrong", "slow", "empty", "refused", "not built", "no loss", "right", "not exported")


def outcomes(lines: Lines, part: str) -> list[str]:
    """Of the classes that have the part; a model that is not built has none but the first."""
    return [kind(line, part) for line in lines.values()]


def by_folder(lines: Lines) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = defaultdict(list)
    for line in lines.values():
        found[line["folder"]].append(line)
    return dict(found)


def verdict(lines: Sequence[Line], part: str) -> str:
    """Of a folder: the worst outcome of its classes; "" where none has the part."""
    found = {kind(line, part) or (kind(line, "build") if part == "forward" else "") for line in lines} - {"", "no loss"}
    return next((each for each in WORST_FIRST if each in found), "")


def counts(lines: Lines, every: Sequence[Folder]) -> dict[str, Any]:
    folders = by_folder(lines)
    complete = {f.name for f in every if f.classes and all(c.__name__ in lines for c in f.classes)}
    forward = {name: verdict(found, "forward") for name, found in folders.items()}
    train = {name: verdict(found, "train") for name, found in folders.items()}
    times = [line["parts"]["forward"]["compile"] for line in lines.values() if kind(line, "forward") == "right"]
    return {
        "classes": len(lines),
        "folders": len(folders),
        "all folders": len(every),
        "complete": len(complete),
        "forward": _tally(forward.values()),
        "train": _tally(train.values()),
        "classes forward": _tally(verdict([line], "forward") for line in lines.values()),
        "classes train": _tally(outcomes(lines, "train")),
        "generate": _tally(outcomes(lines, "generate")),
        "fixed": sum(
            "fixed" in line["parts"]["forward"] for line in lines.values() if kind(line, "forward") == "right"
        ),
        "median": statistics.median(times) if times else 0.0,
    }


def _tally(kinds: Iterable[str]) -> dict[str, int]:
    found = Counter(kinds)
    return {each: found[each] for each in SHOWN if found[each]}


def table(c: Mapping[str, Any]) -> str:
    columns = {
        "folders, forward": c["forward"], "folders, gradients": c["train"], "classes, forward": c["classes forward"],
        "classes, gradients": c["classes train"], "decoders, tokens": c["generate"],
    }  # fmt: skip
    kinds = [each for each in SHOWN if each in ALWAYS or any(each in column for column in columns.values())]
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    lines += [
        f"| {each} | " + " | ".join(str(column.get(each, 0)) for column in columns.values()) + " |" for each in kinds
    ]
    return "\n".join(lines)


# ---- the page


HEAD = """# Models of transformers

This page is written by `python -m smelt.transformers.exam` from the exam's results; do not edit it.

The exam takes the classes of models in transformers {version} (`*Model`, `*For*`). It makes each with a small random configuration
of two layers and more, without dropout and with non-zero biases, exports it with sizes that change, compiles it for the CPU in fp32,
and compares it with eager PyTorch:

- **Outputs** at two sizes that were not traced, with padding. Each element is within 1e-4 of its value plus the root mean square of
  the tensor, or within ten times the error of PyTorch's own float32 next to its float64 in the same row (of the last
  dim). An output of zeros does not count. Integers of which another rounding, or `torch.topk` with equal numbers in another
  order, makes others are not compared.
  The second part of that rule lets rows of padding pass whose attention sees padding alone, where a model adds two masks of
  finite numbers (`gpt_neo`). There PyTorch's float32 is what the model's code says: keys that both masks hide have no
  weight. Smelt gives all keys of such a row the same weight, and float64 differs from both, because its least number is
  another.
  Texts of models that also read images contain an image where `get_image_features(pixel_values)` tells how many tokens it is;
  otherwise these models are given text alone. Models of sound, video or series are given one of these.
- **Tokens**: eight greedy tokens of decoders equal those of `generate()`, or, where this differs from the model's own forward on all
  tokens or fails, those of that forward.
- **Gradients** of one batch, each tensor within 1e-4 of its length, or within ten times the error of PyTorch's own float32 next to
  its float64, or within three times what PyTorch's own gradient moves by when inputs and weights differ by a few roundings, because
  numbers near 0 in front of a rectifier then have another sign; and the losses of three steps of AdamW within 1e-4 or the same
  two multiples, because a gradient near 0 moves its weight as far as any other. Batch norms keep their statistics. A loss that PyTorch computes
  with random numbers is not compared.

Where not all sizes of the inputs can change, the batch alone changes, or else the lengths. A folder of transformers has the worst
outcome of those of its classes that were examined and that `torch.export` takes. The packages pillow, scipy, timm and torchvision were installed, which some
models ask for. To examine more classes, run the command again; it goes on where it ended:

    PYTHONPATH=build/python build/python-venv/bin/python -m smelt.transformers.exam --all --train \\
      --report tests/python/torch/transformers-{version}.jsonl --page docs/reference/transformers.md
"""


def page(lines: Lines, every: Sequence[Folder], version: str) -> str:
    found = counts(lines, every)
    parts = [
        HEAD.format(version=version),
        _summary(found),
        table(found),
        _right(lines),
        *_tables(lines),
        _faulty(every),
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _summary(c: Mapping[str, Any]) -> str:
    return (
        f"{c['classes']} classes in {c['folders']} of {c['all folders']} folders were examined with torch "
        f"{torch.__version__.split('+')[0]}; all classes of {c['complete']} folders were. The median time to compile a "
        f"forward, with its export, was {c['median']:.1f} s by the clock of a machine that did other work, too. "
        f"{c['fixed']} classes are right with some of the sizes that change, because their code or Smelt fixes the others."
    )


def _right(lines: Lines) -> str:
    folders = by_folder(lines)
    both = [
        n for n, found in sorted(folders.items()) if verdict(found, "forward") == verdict(found, "train") == "right"
    ]
    outputs = [n for n, found in sorted(folders.items()) if verdict(found, "forward") == "right" and n not in both]
    return f"## Right\n\n{_names('Outputs and gradients', both)}\n\n{_names('Outputs', outputs)}"


def _names(title: str, names: Sequence[str]) -> str:
    return f"{title} ({len(names)} folders): " + (", ".join(f"`{name}`" for name in names) or "none") + "."


def _tables(lines: Lines) -> list[str]:
    faults = [_table(f"{_TITLES[each]}", lines, (each,)) for each in ("wrong", "crash", "slow", "empty")]
    return [
        *faults,
        _table("Refused, and why", lines, ("refused",)),
        _table("Not built, and why", lines, ("not built",)),
        _table("Not exported by PyTorch itself, and why", lines, ("not exported",)),
    ]


_TITLES = {"wrong": "Wrong", "crash": "Ended by a fault", "slow": "Not done in time", "empty": "No output other than 0"}


def _table(title: str, lines: Lines, kinds: Sequence[str]) -> str:
    reasons: dict[str, list[str]] = defaultdict(list)
    for name, line in sorted(lines.items()):
        for part, outcome in line["parts"].items():
            if outcome["kind"] in kinds:
                reasons[reason(outcome.get("note", ""))].append(
                    f"`{name}`" + (f" ({part})" if part not in ("build", "forward") else "")
                )
    rows = sorted(reasons.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    body = [f"| {why} | {len(names)} | {', '.join(names)} |" for why, names in rows]
    return "\n".join([f"## {title}", "", "| reason | classes | |", "|---|---:|---|", *body]) if rows else ""


def reason(note: str) -> str:
    """Without what differs from class to class: names of modules, numbers, and the symbols of sizes."""
    note = re.sub(r"^(uses what Smelt cannot do|cannot be exported): ", "", note)
    note = re.sub(r" ?\(in [^)]*\)?.*| PyTorch says:.*", "", note)
    note = re.sub(r"\b[su]\d+\b", "s", note)
    return re.sub(r"[|<>]", "/", re.sub(r"\d+", "N", note))[:160].strip() or "(no message)"


def _faulty(every: Sequence[Folder]) -> str:
    rows = [f"| `{f.name}` | {f.fault} |" for f in every if f.fault]
    return "\n".join(["## Not imported, and why", "", "| folder | reason |", "|---|---|", *rows]) if rows else ""
