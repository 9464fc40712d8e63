"""The classes of models of Hugging Face's transformers, next to eager PyTorch: which are right, refused, or wrong.

    python -m smelt.transformers.exam [--all | NAME...] [--train] [--report results.jsonl] [--page PAGE.md]

NAME is a folder of transformers (bert) or a class (BertForMaskedLM). Each class is made with a small random
configuration, exported with sizes that change, compiled for the CPU, and compared in fp32 at two sizes that were not
traced. A class is examined in a process of its own. Results are appended to the report, and a later run goes on where
an earlier one ended.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import sys
import time
import warnings
from typing import Any, Sequence

import torch
import transformers

from . import board, results
from .classes import VERSION, Folder, folder, folders, in_rounds
from .examine import examine
from .isolate import isolated


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m smelt.transformers.exam", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a folder of transformers, or a class")
    parser.add_argument("--all", action="store_true", help="all folders: one class of each first, then the others")
    parser.add_argument("--train", action="store_true", help="gradients and three losses of AdamW, too")
    parser.add_argument(
        "--report",
        type=pathlib.Path,
        default=pathlib.Path(f"transformers-{VERSION}.jsonl"),
        help="file of results; default: %(default)s",
    )
    parser.add_argument(
        "--page", type=pathlib.Path, help="write the board to this file, docs/reference/transformers.md"
    )
    parser.add_argument(
        "--again",
        default="",
        metavar="KINDS",
        help="examine classes with these outcomes again: refused,wrong,crash,slow",
    )
    parser.add_argument("--seconds", type=float, help="seconds after which to stop")
    parser.add_argument("--limit", type=float, default=150, help="seconds per class; default: %(default)s")
    parser.add_argument("--memory", type=float, default=8, help="GiB per class; default: %(default)s")
    return parser.parse_args(arguments)


def chosen(options: argparse.Namespace) -> list[tuple[str, type]]:
    known = folders()
    named = [name for name in options.names if name in known]
    wanted = set(options.names) - set(named)
    found = [folder(name) for name in (known if options.all or wanted else named)]
    if options.all:
        return in_rounds(found)
    pairs = [(f.name, each) for f in found for each in f.classes if f.name in named or each.__name__ in wanted]
    if missing := sorted(wanted - {each.__name__ for _, each in pairs}):
        raise SystemExit(f"transformers {VERSION} has no folder or class {', '.join(missing)}")
    return pairs


def is_done(line: dict[str, Any], options: argparse.Namespace) -> bool:
    """Whether the results have it, with gradients if these are wanted."""
    again = set(filter(None, options.again.split(",")))
    kinds = {outcome["kind"] for outcome in line["parts"].values()}
    has_training = not options.train or line.get("train") or results.kind(line, "build") != "right"
    return bool(has_training) and not kinds & again


def run(options: argparse.Namespace) -> None:
    begun, done = time.monotonic(), results.read(options.report)
    for name, model_class in chosen(options):
        if model_class.__name__ in done and not options.names and is_done(done[model_class.__name__], options):
            continue
        if options.seconds and time.monotonic() - begun > options.seconds:
            print("time is up; the same command goes on", flush=True)
            return
        work = functools.partial(examine, model_class, train=options.train, limit=options.limit / 2)
        parts = isolated(lambda report: work(report=report), options.limit, options.memory)
        line = {**results.line_of(name, model_class.__name__, parts), "train": options.train}
        results.append(options.report, line)
        print(described(line), flush=True)


def described(line: dict[str, Any]) -> str:
    kinds = ", ".join(
        f"{part} {outcome['kind']}"
        for part, outcome in line["parts"].items()
        if part != "build" or outcome["kind"] != "right"
    )
    notes = "; ".join(outcome["note"] for outcome in line["parts"].values() if outcome.get("note"))
    return f"{line['folder']:<20} {line['class']:<45} {kinds}{': ' + notes[:200] if notes else ''}"


def main(arguments: Sequence[str]) -> int:
    options = options_of(arguments)
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    if options.all or options.names:
        run(options)
    lines = results.read(options.report)
    if not lines:
        raise SystemExit(f"{options.report} has no results: give names, or --all")
    every: list[Folder] = [folder(name) for name in folders()] if options.page else []
    counts = board.counts(lines, every)
    print(board.table(counts))
    if options.page:
        options.page.write_text(board.page(lines, every, VERSION))
    return (
        1 if any(results.kind(line, part) in results.FAULTS for line in lines.values() for part in results.PARTS) else 0
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
