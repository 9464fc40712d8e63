#!/usr/bin/env python3
"""Examines Smelt by PyTorch's own sample inputs (OpInfo): results and gradients next to those of eager PyTorch.

Each sample is compiled and run in a process that may crash or hang without ending the exam. A line of the output file is
one sample: {"op", "mode", "sample", "kind", "note"}, where kind is

    right     equal to eager PyTorch within the tolerance, with the same NaNs and infinities
    refused   an error of Smelt that says why
    wrong     another result
    crash     any other exception, or the end of the process
    slow      no result within --limit seconds
    outside   not examined: random numbers, complex numbers, float64, tensors without elements, ...

Example: PYTHONPATH=build/python build/python-venv/bin/python tests/python/torch/opinfo_exam.py --gradients --out exam.jsonl
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import multiprocessing
import pathlib
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Iterator
from unittest import mock

warnings.filterwarnings("ignore")

import torch

import smelt
import smelt.torch
from cached_annotations import cache_annotations
from opinfo_samples import case_of, in_float64, left_open, operations, outside, samples_of, unfit

TOLERANCE = 1e-4
"""The relative error that results in float32 may have."""

# ---- one sample


def distance(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The relative error of a tensor; infinite where NaNs, infinities or the shape differ."""
    if found.shape != expected.shape:
        return float("inf")
    found, expected = found.double(), expected.double()
    differ = ~((found == expected) | (found.isnan() & expected.isnan()))
    if not bool(differ.any()):
        return 0.0
    error = (found - expected)[differ]
    size = expected[expected.isfinite()].norm().clamp(min=1e-3)
    return float(error.norm() / size) if bool(error.isfinite().all()) else float("inf")


def judge(op: Any, sample: Any, gradients: bool) -> tuple[str, str]:
    """The kind of one sample, and a note that says more."""
    case = case_of(op, sample, gradients)
    reason = unfit(case.tensors) or left_open(op, case) or unfit_results(case)
    if reason is not None:
        return "outside", reason
    try:
        worst = (gradient_error if gradients else forward_error)(case)
    except smelt.Error as error:
        return "refused", " ".join(str(error).split())[:300]
    except Exception as error:
        return "crash", f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    allowed = tolerance_of(case)
    if worst > allowed:
        worst = min(worst, max(0.0, worst - 10 * min(eager_error(op, case, gradients), 0.02)))
    return ("right", "") if worst <= allowed else ("wrong", f"{worst:.1e}")


def tolerance_of(case: Any) -> float:
    """Results of 16 bits, and the gradients that pass through them, are rounded to their type."""
    narrow = [torch.finfo(t.dtype).eps for t in case.expected.values() if t.dtype in (torch.bfloat16, torch.half)]
    return max([TOLERANCE, *narrow])


@contextmanager
def other_seeds() -> Iterator[None]:
    """Operations of OpInfo that draw random numbers seed them first: here with another number each time."""
    seed, numbers = torch.manual_seed, itertools.count()
    with mock.patch.object(torch, "manual_seed", lambda _: seed(next(numbers))):
        yield


def eager_error(op: Any, case: Any, gradients: bool) -> float:
    """The error of eager PyTorch's own float32, next to its float64: what rounding alone does to this sample."""
    try:
        exact = case_of(op, in_float64(case.sample), gradients)
        expected = exact(*exact.inputs().values())
        if not gradients:
            pairs = [(case.expected[k].detach(), v.detach()) for k, v in expected.items()]
        else:
            expected["loss"].backward()
            pairs = [(p.grad, q.grad) for p, q in zip(case.parameters(), exact.parameters())]
        errors = [distance(a, b) for a, b in pairs if a is not None and b is not None]
        return max((e for e in errors if e < float("inf")), default=0.0)
    except Exception:
        return 0.0


def unfit_results(case: Any) -> str | None:
    """Why eager PyTorch has nothing to compare with."""
    try:
        case.expected = case(*case.inputs().values())
        with other_seeds():
            if any(differs(case(*case.inputs().values()), case.expected) for _ in range(4)):
                return "random numbers"
        if case.gradients:
            loss = case.expected["loss"]
            if not isinstance(loss, torch.Tensor) or not loss.requires_grad:
                return "no gradient"
            loss.backward()
    except Exception as error:
        return f"eager PyTorch refuses it ({type(error).__name__})"
    return unfit(list(case.expected.values())) if case.expected else "no results"


def differs(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> bool:
    return any(distance(found[k].detach(), v.detach()) > TOLERANCE for k, v in expected.items())


def forward_error(case: Any) -> float:
    found = smelt.torch.compile_module(case, case.inputs()).session().run(**case.inputs())
    return max(distance(torch.as_tensor(found[k]), v.detach()) for k, v in case.expected.items())


def gradient_error(case: Any) -> float:
    """The error of one step of SGD: how far each parameter has moved from 0 is its gradient."""
    plan = smelt.torch.compile_module(case, case.inputs(), mode="train", optimizer=smelt.SGD(lr=1.0))
    session = plan.session()
    session.step(lr=1.0, **case.inputs())
    moved, worst = session.state_dict(), 0.0
    for name, p in case.named_parameters():
        expected = torch.zeros_like(p) if p.grad is None else p.grad
        worst = max(worst, distance(-torch.as_tensor(moved[name]), expected))
    return worst


# ---- a process that examines


def serve(pipe: Any) -> None:
    """Answers questions (name, gradients, count, special, begin) with lines (sample, kind, note), then None."""
    torch.set_num_threads(1)
    cache_annotations()
    gc.freeze()  # what the imports have left
    while True:
        name, gradients, count, special, begin = pipe.recv()
        op = operations()[name]
        try:
            samples = samples_of(op, count, gradients, special)
        except Exception as error:
            pipe.send((0, "outside", f"its samples cannot be made ({type(error).__name__})"))
            samples = []
        for i, sample in enumerate(samples[begin:], begin):
            pipe.send((i, *judge(op, sample, gradients)))
        pipe.send(None)


class Examiner:
    """A process of its own, started again whenever it has ended."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.process = None

    def _start(self) -> None:
        here, there = multiprocessing.get_context("spawn").Pipe()
        self.pipe = here
        self.process = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
        self.process.start()
        there.close()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def answers(self, name: str, gradients: bool, count: int, special: bool) -> Iterator[tuple[int, str, str]]:
        """One for each sample; one that ends the process or takes too long is known by that alone."""
        begin = 0
        while begin is not None:
            if self.process is None:
                self._start()
            self.pipe.send((name, gradients, count, special, begin))
            begin = yield from self._until_end(begin)

    def _until_end(self, at: int) -> Iterator[tuple[int, str, str]]:
        """Returns where to go on after an end of the process, or None."""
        while True:
            try:
                first = 60 if at == 0 else 0  # the process may only now be starting
                if not self.pipe.poll(self.limit + first):
                    kind, note = "slow", f"more than {self.limit:g} s"
                elif (answer := self.pipe.recv()) is None:
                    return None
                else:
                    yield answer
                    at = answer[0] + 1
                    continue
            except (EOFError, OSError):
                self.process.join()
                kind, note = "crash", f"the process ended with {self.process.exitcode}"
            self.stop()
            yield at, kind, note
            return at + 1


# ---- the exam


class Exam:
    """Asks for all operations and writes what comes back."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.file = open(options.out, "a" if options.resume else "w") if options.out else None
        self.counts: Counter[str] = Counter()
        self.lines: list[dict] = []

    def write(self, lines: list[dict]) -> None:
        """All samples of an operation at once, so that a file has it whole or not at all."""
        self.lines += lines
        self.counts.update(line["kind"] for line in lines)
        if self.file:
            self.file.write("".join(json.dumps(line) + "\n" for line in lines))
            self.file.flush()
        for line in lines:
            if line["kind"] in ("wrong", "crash", "slow") and not self.options.quiet:
                print(f"{line['kind']} {line['op']} [{line['sample']}] {line['mode']}: {line['note']}", flush=True)

    def run(self) -> list[dict]:
        done = finished(self.options.out) if self.options.resume else set()
        part, parts = map(int, self.options.part.split("/"))
        asked = list(operations(self.options.ops).items())[part - 1 :: parts]
        modes = [False, True] if self.options.gradients else [False]
        work = [(n, op, g) for n, op in asked for g in modes if (n, mode_name(g)) not in done]
        begin = time.time()
        with ThreadPoolExecutor(self.options.jobs) as pool:
            lanes = [work[i :: self.options.jobs] for i in range(self.options.jobs)]
            list(pool.map(lambda lane: self._lane(lane, begin), lanes))
        return self.lines

    def _lane(self, work: list, begin: float) -> None:
        examiner = Examiner(self.options.limit)
        try:
            for name, op, gradients in work:
                if time.time() - begin > self.options.seconds:
                    return
                self._operation(examiner, name, op, gradients)
        finally:
            examiner.stop()

    def _operation(self, examiner: Examiner, name: str, op: Any, gradients: bool) -> None:
        reason = outside(op)
        if reason is None and gradients and not op.supports_autograd:
            reason = "no gradient"
        if reason is not None:
            answers = iter([(0, "outside", reason)])
        else:
            answers = examiner.answers(name, gradients, self.options.samples, self.options.special)
        mode = mode_name(gradients)
        self.write([dict(op=name, mode=mode, sample=i, kind=kind, note=note) for i, kind, note in answers])


def mode_name(gradients: bool) -> str:
    return "gradients" if gradients else "forward"


def finished(path: str) -> set[tuple[str, str]]:
    """The operations in a file."""
    if not pathlib.Path(path).exists():
        return set()
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    return {(line["op"], line["mode"]) for line in lines}


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default=".", help="regular expression of operations' full names (default: all)")
    parser.add_argument("--samples", type=int, default=4, help="samples per operation at most (default: 4)")
    parser.add_argument("--gradients", action="store_true", help="gradients as well as results")
    parser.add_argument("--special", action="store_true", help="reference inputs, with extreme and special values")
    parser.add_argument("--part", default="1/1", help="K/N: each N-th operation from the K-th on (default: 1/1)")
    parser.add_argument("--out", help="file of JSON lines")
    parser.add_argument("--resume", action="store_true", help="go on where the file ends")
    parser.add_argument("--jobs", type=int, default=1, help="processes that examine (default: 1)")
    parser.add_argument("--limit", type=float, default=60, help="seconds per sample (default: 60)")
    parser.add_argument("--seconds", type=float, default=1e9, help="seconds after which no operation is begun")
    parser.add_argument("--quiet", action="store_true", help="print no sample")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    exam = Exam(options_of(arguments))
    exam.run()
    print(dict(exam.counts))
    return 1 if exam.counts["wrong"] or exam.counts["crash"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
