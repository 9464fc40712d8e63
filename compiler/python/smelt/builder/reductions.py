"""Sums along axes and the like: reductions, running ones, and products of matrices."""

from __future__ import annotations

from typing import Iterable, Optional, Sequence

from ..ranges import INTEGERS, Range, fits, sum_of
from .arithmetic import Arithmetic
from .integers import NARROW
from .sizes import Size, product
from .values import Value


class Reductions(Arithmetic):
    def reduce(self, kind: str, x: Value, axes: Iterable[int], keep: bool = False) -> Value:
        """x reduced over the axes, which go away or, with `keep`, become 1."""
        axes = sorted({axis % x.rank for axis in axes}) if x.rank else []
        if not axes:
            return x
        kept = [1 if i in axes else size for i, size in enumerate(x.shape) if keep or i not in axes]
        if x.dtype in INTEGERS and kind == "add":
            numbers = self._sum_of(x, product(x.shape[axis] for axis in axes))
            x = self.held(x, numbers)
            return self.reshape(self.known(self.node("reduce add", [x], axes=axes), numbers), kept)
        return self.reshape(self.node(f"reduce {kind}", [x], axes=axes), kept)

    def _sum_of(self, x: Value, count: Size) -> Optional[Range]:
        return sum_of(x.numbers, self.ranges.most(count))

    def largest(self, x: Value, axes: Sequence[int]) -> list[Value]:
        """The largest number over the axes, and the first index that holds it."""
        axes = sorted(axis % x.rank for axis in axes) if x.rank else []
        if not axes:
            return [x, self.constant(0, "i32", x.shape)]
        best, places = self.nodes("reduce argmax", [x], axes=axes)
        best.low, best.high = x.low, x.high
        places.low, places.high = 0, self.last(product(x.shape[axis] for axis in axes))
        return [best, places]

    def sum(self, x: Value, axes: Iterable[int], keep: bool = False) -> Value:
        return self.reduce("add", x, axes, keep)

    def scan(self, x: Value, axis: int, kind: str = "add", exclusive: bool = False) -> Value:
        """Running sums, products or maxima."""
        numbers = self._running(x, axis, kind) if x.dtype in INTEGERS else None
        x = self.held(x, numbers) if x.dtype in INTEGERS else x
        result = self.node("scan", [x], axis=axis % x.rank, kind=kind, exclusive=exclusive or None)
        return self.known(result, numbers)

    def _running(self, x: Value, axis: int, kind: str) -> Optional[Range]:
        if kind == "mul":
            return (-1, 1) if fits(x.numbers, "bool") or x.numbers == (-1, 1) else None
        return x.numbers if kind == "max" else self._sum_of(x, x.shape[axis])

    def matmul(self, spec: str, a: Value, b: Value) -> Value:
        """A sum of products by letters, in f32."""
        return self.node("matmul", [a, b], spec=spec, result="f32" if a.dtype in NARROW else None)
