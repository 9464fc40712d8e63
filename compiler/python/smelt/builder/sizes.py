"""Sizes of tensors: whole numbers, or the compiler's Dim, a polynomial such as 2*B*T + ceil_div(T, 2)."""

from __future__ import annotations

from typing import Iterable, Union

from .._native import Dim, Ranges, ceil_div, floor_div, quotient
from ..errors import Error

__all__ = ["Dim", "Ranges", "Shape", "Size", "broadcast_shapes", "ceil_div", "floor_div", "is_known", "product", "quotient"]

Size = Union[int, Dim]
Shape = tuple


def is_known(size: Size) -> bool:
    return not isinstance(size, Dim)


def product(sizes: Iterable[Size]) -> Size:
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def broadcast_size(a: Size, b: Size) -> Size:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if is_known(a) != is_known(b):
        raise Error(f"sizes {a} and {b} side by side, one known only when it runs; give it a fixed size")
    raise Error(f"sizes {a} and {b} side by side, which do not broadcast")


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that all of them spread to, as NumPy has it: dims line up at the end."""
    result: list = []
    for shape in shapes:
        result = [1] * (len(shape) - len(result)) + result
        padded = [1] * (len(result) - len(shape)) + list(shape)
        result = [broadcast_size(a, b) for a, b in zip(result, padded)]
    return tuple(result)
