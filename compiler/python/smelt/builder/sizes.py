"""Sizes of tensors: whole numbers, or the compiler's Dim, a polynomial such as 2*B*T + ceil_div(T, 2)."""

from __future__ import annotations

from typing import Union

from .._native import Dim, Ranges, broadcast_shapes, ceil_div, floor_div, kept_axes, product, quotient

__all__ = [
    "Dim", "Ranges", "Shape", "Size", "broadcast_shapes", "ceil_div", "floor_div", "is_known", "kept_axes", "product",
    "quotient",
]  # fmt: skip

Size = Union[int, Dim]
Shape = tuple


def is_known(size: Size) -> bool:
    return not isinstance(size, Dim)
