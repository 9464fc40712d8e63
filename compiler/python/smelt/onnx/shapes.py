"""Which sizes stand side by side, as NumPy has it."""

from __future__ import annotations

from typing import Iterable

from .dims import Size, is_known
from .refusal import Refusal

Shape = tuple


def broadcast_size(a: Size, b: Size) -> Size:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if is_known(a) != is_known(b):
        raise Refusal(f"sizes {a} and {b} side by side, one known only when it runs; give it a fixed size")
    raise Refusal(f"sizes {a} and {b} side by side, which do not broadcast")


def broadcast_shapes(shapes: Iterable[Shape]) -> Shape:
    result: list = []
    for shape in shapes:
        result = [1] * (len(shape) - len(result)) + result
        padded = [1] * (len(result) - len(shape)) + list(shape)
        result = [broadcast_size(a, b) for a, b in zip(result, padded)]
    return tuple(result)


def is_empty(shape: Iterable[Size]) -> bool:
    return any(is_known(size) and size == 0 for size in shape)
