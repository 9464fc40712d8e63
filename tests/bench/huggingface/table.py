#!/usr/bin/env python3
"""Writes the tables of docs/bench/benchmarks.md from the lines that beside_inductor.py has appended to results.jsonl:
table.py, then docs/bench/tables.py. Prints the geometric means."""

import csv
import json
import math
import pathlib

import models

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parents[2] / "docs" / "bench" / "results"
HEADS = ["model", ">batch", ">length", ">Smelt, ms", ">torch.compile, ms", ">ratio", "error, or losses: Smelt, torch.compile"]


def lines(mode):
    """The last line of each model, in the order of the list."""
    found = {}
    for line in (HERE / "results.jsonl").read_text().splitlines():
        line = json.loads(line)
        if line["mode"] == mode:
            found[line["model"]] = line
    return [found[name] for name in models.MODELS if name in found]


def ratio(line):
    return line["ms"]["inductor"][0] / line["ms"]["smelt"][0]


def quality(line, engine):
    if line["mode"] == "infer":
        return f"{line[f'{engine}_error']:.4f}"
    return " to ".join(f"{loss:.3f}" for loss in line[f"{engine}_losses"])


def row(line):
    model = models.MODELS[line["model"]]
    sizes = [line["model"], model.batch, "" if model.inputs else f"{model.length:,}"]
    if "failed" in line:
        return [*sizes, "", "", "", line["failed"].splitlines()[0].split(". ")[0][:110]]
    times = [f"{line['ms'][engine][0]:.2f}" for engine in ("smelt", "inductor")]
    return [*sizes, *times, f"{ratio(line):.2f}", ", ".join(quality(line, e) for e in ("smelt", "inductor"))]


def write(mode, name):
    found = lines(mode)
    with open(RESULTS / name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADS, *(row(line) for line in found)])
    ratios = [ratio(line) for line in found if "ms" in line]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{mode}: {len(ratios)} of {len(found)} models, geometric mean {mean:.3f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    write("infer", "models-of-hugging-face-inference.csv")
    write("train", "models-of-hugging-face-training.csv")
