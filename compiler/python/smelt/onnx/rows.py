"""The table of operators: a row is a function that writes an operator's nodes, and what its results are.

    @row("Neg")
    def neg(n, x):
        return n.b.point("neg", x)

A row gets the call `n` and as many operands as it names, each a value of the text form, in the type that Smelt computes
it in; None for those that are left out. What it must know before the graph runs it asks of `n`: n.ints(1),
n.attribute("axis").
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, NamedTuple, Optional

SAME = "same"
"""The results have the element type of the first operand."""


class Row(NamedTuple):
    build: Callable[..., Any]
    out: Optional[str]
    exact: bool
    """The results are numbers of the operands: nothing is rounded or wrapped."""
    folds: bool
    """Of constants, the result is a constant."""
    narrow: bool
    """FLOAT16 and BFLOAT16 come as they are stored, not as f32."""
    operands: int
    otherwise: Optional[Callable[..., bool]] = None
    """Calls that ONNX's definition by other operators is taken for, in place of the row."""


class Typed(NamedTuple):
    """A result whose element type is not the row's."""

    value: Any
    element: str


ROWS: dict[tuple[str, str], Row] = {}
ML, TRAINING, PREVIEW = "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview"


def row(
    *names: str,
    out: Optional[str] = SAME,
    exact: bool = False,
    folds: bool = True,
    narrow: Optional[bool] = None,
    domain: str = "",
    otherwise: Optional[Callable[..., bool]] = None,
) -> Callable:
    def enter(build: Callable[..., Any]) -> Callable[..., Any]:
        kinds = [p.kind for p in inspect.signature(build).parameters.values()][1:]
        count = 1000 if inspect.Parameter.VAR_POSITIONAL in kinds else len(kinds)
        for name in names:
            ROWS[domain, name] = Row(build, out, exact, folds, exact if narrow is None else narrow, count, otherwise)
        return build

    return enter
