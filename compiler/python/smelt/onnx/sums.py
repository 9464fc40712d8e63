"""Sums along axes: reductions, running sums and products of matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence

from ..ranges import INTEGERS, LIMITS, Range, fits, sum_of
from ..text import Graph, Value
from .dims import most, product
from .facts import Facts
from .shapes import is_empty

RANKS = {"bool": 0, "i32": 1, "i64": 2, "f32": 3}
NARROW = {"f16", "bf16"}
"""Floats as they are stored; whatever computes takes them as f32."""


class Sums:
    """The Builder has the nodes."""

    if TYPE_CHECKING:
        bounds: Mapping[str, int]
        facts: Facts
        graph: Graph
        known: Callable[..., Value]
        wide: bool
        widened: Callable[..., Value]
        div: Callable[..., Value]
        full: Callable[..., Value]
        lift: Callable[..., Value]
        mul: Callable[..., Value]
        node: Callable[..., Value]
        reshape: Callable[..., Value]
        transpose: Callable[..., Value]

    def reduce(self, kind: str, x: Value, axes: Sequence[int], keep: bool = False) -> Value:
        axes = sorted({axis % len(x.shape) for axis in axes}) if x.shape else []
        kept = [1 if i in axes else size for i, size in enumerate(x.shape) if keep or i not in axes]
        if not axes:
            return x
        if is_empty(x.shape):
            identity = {"add": 0, "max": -math.inf, "min": math.inf}[kind]
            if x.dtype in INTEGERS and kind != "add":
                identity = LIMITS[x.dtype][0 if kind == "max" else 1]
            return self.full(identity, x.dtype, tuple(kept))
        shape = [size for i, size in enumerate(x.shape) if i not in axes]
        numbers = None
        if x.dtype in INTEGERS and kind == "add":
            x, numbers = self._summable(x, product(x.shape[axis] for axis in axes))
        return self.reshape(self.known(self.node(f"reduce {kind}", [x], x.dtype, shape, axes=axes), numbers), kept)

    def _summable(self, x: Value, count: Any) -> tuple[Value, Optional[Range]]:
        """Integers in a type that holds the sum of `count` of them, and what the sum can be."""
        numbers = sum_of(self.facts.range_of(x), most(count, self.bounds))
        return (x if fits(numbers, "i32") or not self.wide else self.widened(x)), numbers

    def argmax(self, x: Value, axis: int) -> Value:
        """The first index along the axis that holds the largest number."""
        axis %= len(x.shape)
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        return self.graph.nodes("reduce argmax", [x], [(x.dtype, shape), ("i32", shape)], axes=[axis])[1]

    def mean(self, x: Value, axes: Sequence[int], keep: bool = True) -> Value:
        count = product(x.shape[axis] for axis in axes)
        return self.div(self.reduce("add", x, axes, keep), self.lift(count, "f32"))

    def scan(self, x: Value, axis: int, kind: str = "add", exclusive: bool = False) -> Value:
        if x.dtype in INTEGERS:
            x = self._summable(x, x.shape[axis])[0] if kind == "add" or not self.wide else self.widened(x)
        return self.node(
            "scan", [x], x.dtype, x.shape, axis=axis % len(x.shape), kind=kind, exclusive=exclusive or None
        )

    def matmul(self, spec: str, a: Value, b: Value) -> Value:
        """By letters; sums over letters of no size are zero, and integers are multiplied and added as they are."""
        left, out = spec.split("->")
        names = left.split(",")
        sizes = dict(zip(names[0], a.shape)) | dict(zip(names[1], b.shape))
        shape = tuple(sizes[letter] for letter in out)
        if not a.name or not b.name:
            return self.full(0, a.dtype, shape) if not is_empty(shape) else Value("", a.dtype, shape)
        if a.dtype in RANKS and a.dtype != "f32":
            return self._products(names, out, sizes, a, b)
        wide = "f32" if a.dtype in NARROW else None
        return self.node("matmul", [a, b], "f32", shape, spec=spec, result=wide)

    def _products(self, names: Sequence[str], out: str, sizes: dict, a: Value, b: Value) -> Value:
        letters = out + "".join(sorted(set("".join(names)) - set(out)))

        def spread(x: Value, own: str) -> Value:
            order = sorted(range(len(own)), key=lambda i: letters.index(own[i]))
            moved = self.transpose(x, order)
            return self.reshape(moved, [sizes[letter] if letter in own else 1 for letter in letters])

        product_ = self.mul(spread(a, names[0]), spread(b, names[1]))
        return self.reduce("add", product_, range(len(out), len(letters)))

    def composite(self, operation: str, operands: Sequence[Value], **fields: Any) -> Value:
        """What keeps the type of its first operand."""
        return self.node(operation, operands, operands[0].dtype, operands[0].shape, **fields)
