"""What is known of values, and of shapes, without writing anything."""

from __future__ import annotations

import math
from typing import Optional, Sequence, Union

import sympy
import torch

from .dims import Dim, Shape, same
from .values import Number, Value


def spread_shape(*shapes: Shape) -> Shape:
    """The shape that all of them spread to."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[Dim] = [1] * rank
    for shape in shapes:
        for i, size in enumerate(reversed(shape)):
            if not same(size, 1):
                result[rank - 1 - i] = size
    return tuple(result)


def expression_or_float(x: sympy.Expr) -> Union[int, float, sympy.Expr]:
    if x.is_Integer:
        return int(x)
    return float(x) if x.is_number else x


def is_natural(x: sympy.Expr) -> bool:
    return bool(x.is_Integer and x >= 0)


def is_size(x: sympy.Expr) -> bool:
    """Whether it is a whole number whatever the symbols are, as far as its form says."""
    return not any(type(e).__name__ in ("IntTrueDiv", "FloatTrueDiv", "ToFloat", "FloatPow") or e.is_Float
                   for e in sympy.preorder_traversal(x))


def as_f32(table: torch.Tensor) -> torch.Tensor:
    return table.float() if table.is_floating_point() else table


def converted(number: Number, dtype: str) -> Number:
    if dtype == "bool":
        return bool(number)
    if dtype == "f32":
        return float(number)
    return math.trunc(number)


def certain(operation: str, operands: Sequence[Value]) -> Optional[bool]:
    """Of a comparison with a number that no element is below."""
    if operation not in ("ge", "lt") or operands[1].splat is None or operands[0].low is None:
        return None
    return operation == "ge" if operands[0].low >= operands[1].splat else None


def last_place(shape: Shape, axes: Sequence[int]) -> Optional[int]:
    """Of an index along the one axis, where its size is known."""
    size = shape[axes[0]] if len(axes) == 1 else None
    return size - 1 if isinstance(size, int) else None


def kept_axes(before: Shape, after: Shape) -> Optional[list[tuple[int, int]]]:
    """Where a reshape only adds or drops dims of 1: the dims that stay, as pairs of their places."""
    old = [i for i, d in enumerate(before) if not same(d, 1)]
    new = [i for i, d in enumerate(after) if not same(d, 1)]
    if len(old) != len(new) or any(not same(before[i], after[j]) for i, j in zip(old, new)):
        return None
    return list(zip(old, new))


def moved_place(x: Value, shape: Shape, axes: list[tuple[int, int]]) -> Optional[tuple[int, int, Dim]]:
    axis, step, begin = x.place
    for old, new in axes:
        if old == axis:
            return new, step, begin
    return None
