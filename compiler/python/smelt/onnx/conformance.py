"""ONNX's own test cases of operators: which pass, which are refused, and whether any result is wrong.

    python -m smelt.onnx.conformance [--filter TEXT] [--sample N] [--seed S] [--list] [--json FILE] [--counts FILE]

A case is a model of an operator with inputs and outputs. It passes where all outputs have the expected types and sizes
and equal the expected numbers within the case's own tolerance; it is refused where an Error names what Smelt does not
have; else it is wrong. Passing cases are of three kinds: of any inputs of their sizes ("plain"), compiled for the given
numbers of inputs that set sizes ("sizes"), and of outputs that follow from these alone ("constant").
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import sys
import time
import warnings
from typing import Any, Iterable, NamedTuple, Sequence

import ml_dtypes
import numpy
import onnx

from . import compile_model
from .counts import renew
from .refusal import Refusal

PASSES = ("plain", "sizes", "constant")

# Cases whose expected numbers were rounded more often than Smelt rounds: (relative, absolute) tolerance, and why.
ROUNDED = {
    # The reference rounds each exponential and sum of the softmax to FLOAT16: two units.
    "test_attention_4d_causal_fp16_expanded": (2**-9, 1e-7),
    # Rounding errors of the reference around zero.
    "test_dft_inverse": (1e-3, 1e-6),
    "test_dft_inverse_opset19": (1e-3, 1e-6),
}
BFLOAT16_TOLERANCE = 2**-6
"""Relative, where that of the case is finer: as onnx's own runner has it."""


class Result(NamedTuple):
    case: str
    operator: str
    kind: str
    """One of PASSES, "refused" or "wrong"."""
    why: str
    seconds: float


def cases() -> list[Any]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return load_model_tests(kind="node")


def operator_of(case: Any) -> str:
    """What the case is a test of; of expanded functions all that there is is their name."""
    operators = list(dict.fromkeys(node.op_type for node in case.model.graph.node))
    return operators[0] if len(operators) == 1 else "(expanded)" if "expanded" in case.name else operators[-1]


def plain(value: Any) -> Any:
    """An array of a case, or a list of them."""
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if isinstance(value, (onnx.SequenceProto, list)):
        return [plain(each) for each in (value if isinstance(value, list) else onnx.numpy_helper.to_list(value))]
    return value if value is None else numpy.asarray(value)


def run_case(case: Any) -> Result:
    begun = time.perf_counter()
    try:
        kind, why = compared(case)
    except Refusal as refusal:
        kind, why = "refused", refusal.why
    except Exception as error:
        kind, why = "wrong", f"{type(error).__name__}: {error}"
    return Result(case.name, operator_of(case), kind, why.split("\n")[0][:300], time.perf_counter() - begun)


def compared(case: Any) -> tuple[str, str]:
    names = [port.name for port in case.model.graph.input]
    model = None
    for given, expected in case.data_sets:
        inputs = dict(zip(names, map(plain, given)))
        model = model or compile_model(case.model, sizes=inputs, doubles=True, no_plan_cache=True)
        found = model.session(
            threads=1, **({"from_scratch": True} if model.plan and not model.plan.weights else {})
        ).run(inputs)
        for name, one in zip(model.outputs, map(plain, expected)):
            fault = difference(
                *of_defined_elements(case, inputs, found[name], one),
                *ROUNDED.get(case.name, (case.rtol, case.atol)),
            )
            if fault:
                return "wrong", f"{name}: {fault}"
    return ("constant" if model.plan is None else "sizes" if model.frozen else "plain"), ""


def of_defined_elements(case: Any, inputs: dict[str, Any], found: Any, expected: Any) -> tuple[Any, Any]:
    """Both results, equal where ONNX leaves the element undefined: a float cast to an integer beyond the type's range.

    The numbers that cases expect there are those of the ml_dtypes that is installed: modulo 16 before 0.7, then 0.
    """
    first = next(iter(inputs.values()), None)
    casts = [node.op_type for node in case.model.graph.node] in (["Cast"], ["CastLike"])
    if not casts or found.dtype != expected.dtype or not is_integer(expected.dtype) or not is_float(first.dtype):
        return found, expected
    limits = ml_dtypes.iinfo(expected.dtype)
    value = numpy.trunc(first.astype(numpy.float64))
    return found, numpy.where((value >= limits.min) & (value <= limits.max), expected, found)


def is_integer(dtype: numpy.dtype) -> bool:
    return dtype.kind in "iu" or dtype.name.removeprefix("u").startswith("int")


def is_float(dtype: numpy.dtype) -> bool:
    return dtype.kind == "f" or "float" in dtype.name


def difference(found: Any, expected: Any, rtol: float, atol: float) -> str:
    """Empty where there is none."""
    if isinstance(expected, list):
        if len(found) != len(expected):
            return f"{len(found)} parts, expected {len(expected)}"
        return next(filter(None, (difference(f, e, rtol, atol) for f, e in zip(found, expected))), "")
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype}{found.shape}, expected {expected.dtype}{expected.shape}"
    if expected.dtype.kind in "biu":
        wrong = found != expected
    else:
        rtol = max(rtol, BFLOAT16_TOLERANCE) if expected.dtype.name == "bfloat16" else rtol
        with numpy.errstate(all="ignore"):
            wrong = ~numpy.isclose(
                found.astype(numpy.float64), expected.astype(numpy.float64), rtol, atol, equal_nan=True
            )
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in numpy.argwhere(wrong)[0]) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size} elements, such as {place}: {found[place]}, expected {expected[place]}"


def table(results: Sequence[Result]) -> str:
    """By operator, and the sums."""
    kinds = (*PASSES, "refused", "wrong")
    rows = collections.defaultdict(collections.Counter)
    for result in results:
        rows[result.operator][result.kind] += 1
    width = max(map(len, rows), default=8)
    lines = ["  ".join([f"{'operator':<{width}}", *(f"{kind:>8}" for kind in kinds)])]
    for name in sorted(rows):
        lines.append("  ".join([f"{name:<{width}}", *(f"{rows[name][kind] or '':>8}" for kind in kinds)]))
    total = collections.Counter(result.kind for result in results)
    lines.append("  ".join([f"{'all':<{width}}", *(f"{total[kind]:>8}" for kind in kinds)]))
    passed = sum(total[kind] for kind in PASSES)
    lines.append(f"{len(results)} cases: {passed} pass, {total['refused']} refused, {total['wrong']} wrong")
    return "\n".join(lines)


def details(results: Iterable[Result]) -> str:
    reasons = collections.Counter(result.why for result in results if result.kind == "refused")
    lines = [f"refused {count:>4}: {why}" for why, count in reasons.most_common()]
    return "\n".join(lines + [f"WRONG {r.case}: {r.why}" for r in results if r.kind == "wrong"])


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m smelt.onnx.conformance", description=__doc__.split("\n")[0])
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--sample", type=int, help="this many cases, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--list", action="store_true", help="say what becomes of each case")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--counts", help="renew the counts in this file, docs/guides/onnx.md")
    options = parser.parse_args(arguments)
    chosen = [case for case in cases() if options.filter in case.name]
    if options.sample is not None:
        chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
    results = []
    for case in chosen:
        results.append(run_case(case))
        if options.list:
            print(f"{results[-1].kind:>8}  {results[-1].case}  {results[-1].why}", flush=True)
    print(table(results), details(results), sep="\n")
    if options.json:
        with open(options.json, "w") as file:
            json.dump([result._asdict() for result in results], file)
    if options.counts:
        renew(options.counts, results)
    return 1 if any(result.kind == "wrong" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
