"""What ONNX adds to the builder: types of mixed operands, weights and tensors without elements.

A tensor without elements is of no use to others: concatenations skip it, and reductions answer with their identity.
"""

from __future__ import annotations

import math
from typing import Any, Iterable, Mapping, Optional, Sequence

import numpy

from .. import builder
from .._native import GraphBuilder, scalar_operations
from ..builder.constants import type_of
from ..builder.integers import NARROW
from ..builder.sizes import Dim, Ranges, Shape, Size, is_known, product
from ..builder.values import Value
from ..ranges import INTEGERS, LIMITS
from ..text import Parameter
from .refusal import Refusal

DOMAINS = {name: {"flags": "bool", "reals": "f32"}[domain] for name, domain, _, _ in scalar_operations() if domain}
"""The types of operands of operations that take flags alone, or floats alone."""
RANKS = ("bool", "i32", "i64", "f32")
FREE = ("select", "eq", "ne", "max", "min")
"""Operations that take flags as they are; others take them as integers."""


def is_empty(shape: Shape) -> bool:
    return any(is_known(size) and size == 0 for size in shape)


class Builder(builder.Builder):
    def __init__(self, block: GraphBuilder, bounds: Mapping[str, int] = {}) -> None:
        super().__init__(block, Ranges({(name,): (1, most) for name, most in bounds.items()}), wide=False)
        self.parameters: dict[str, Parameter] = {}

    def nodes(
        self, operation: str, operands: Sequence[Value], types: Sequence = (), body: Any = None, **attributes: Any
    ) -> list[Value]:
        results = super().nodes(operation, operands, types, body, **attributes)
        if any(is_empty(x.shape) for x in operands) and not any(is_empty(x.shape) for x in results):
            raise Refusal("a tensor without elements here")
        return results

    def weights(self, array: numpy.ndarray, name: Optional[str]) -> Value:
        name = name or f"constant.{len(self.parameters)}"
        known = self.parameters.get(name)
        if known is not None and known.values is not array:
            name = f"{name}.{len(self.parameters)}"
        self.parameters[name] = Parameter(name, "f32", array.shape, array)
        return self.node("parameter", [], "f32", array.shape, name=name)

    def table(self, array: Any, name: Optional[str] = None) -> Value:
        """NumPy's numbers, or sizes as integers."""
        array = numpy.asarray(array)
        if array.dtype != object or all(map(is_known, array.flat)):
            return super().table(array.astype(numpy.int64) if array.dtype == object else array, name)
        return self.reshape(self.concat([self.reshape(self.size(each), (1,)) for each in array.flat], 0), array.shape)

    def common(self, operation: str, operands: Sequence[Any]) -> str:
        """The type that holds the numbers of all operands, as NumPy has it."""
        types = [x.dtype if isinstance(x, Value) else "i32" if isinstance(x, Dim) else type_of(x) for x in operands]
        dtype = max(("f32" if each in NARROW else each for each in types), key=RANKS.index)
        if operation in DOMAINS:
            return DOMAINS[operation]
        return "i32" if dtype == "bool" and operation not in FREE else dtype

    def reshape(self, x: Value, shape: Sequence[Size]) -> Value:
        if product(x.shape) != product(shape):
            raise Refusal(f"a tensor of {x.type} reshaped to [{', '.join(map(str, shape))}]")
        return super().reshape(x, shape)

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        shape = list(x.shape)
        for axis in sorted(a % (x.rank + len(axes)) for a in axes):
            shape.insert(axis, 1)
        return self.reshape(x, shape)

    def squeeze(self, x: Value, *axes: int) -> Value:
        gone = {a % x.rank for a in axes}
        return self.reshape(x, [size for i, size in enumerate(x.shape) if i not in gone])

    def move(self, x: Value, source: int, destination: int) -> Value:
        order = [i for i in range(x.rank) if i != source % x.rank]
        order.insert(destination % x.rank, source % x.rank)
        return self.transpose(x, order)

    def reduce(self, kind: str, x: Value, axes: Iterable[int], keep: bool = False) -> Value:
        axes = list(axes)
        if not is_empty(x.shape) or not axes:
            return super().reduce(kind, x, axes, keep)
        ends = LIMITS[x.dtype] if x.dtype in INTEGERS else (-math.inf, math.inf)
        gone = {axis % x.rank for axis in axes}
        kept = tuple(1 if i in gone else size for i, size in enumerate(x.shape) if keep or i not in gone)
        return self.constant({"add": 0, "max": ends[0], "min": ends[1]}[kind], x.dtype, kept)

    def mean(self, x: Value, axes: Sequence[int], keep: bool = True) -> Value:
        return self.div(self.sum(x, axes, keep), self.operand(product(x.shape[axis] for axis in axes), "f32"))

    def matmul(self, spec: str, a: Value, b: Value) -> Value:
        """Sums over letters of no size are zero, and integers are multiplied and added as they are."""
        left, out = spec.split("->")
        names = left.split(",")
        sizes = dict(zip(names[0], a.shape)) | dict(zip(names[1], b.shape))
        if is_empty(a.shape) or is_empty(b.shape):
            return self.constant(0, a.dtype, tuple(sizes[letter] for letter in out))
        if a.dtype in NARROW or a.dtype == "f32":
            return super().matmul(spec, a, b)
        letters = out + "".join(sorted(set("".join(names)) - set(out)))

        def spread(x: Value, own: str) -> Value:
            moved = self.transpose(x, sorted(range(len(own)), key=lambda i: letters.index(own[i])))
            return self.reshape(moved, [sizes[letter] if letter in own else 1 for letter in letters])

        return self.sum(self.mul(spread(a, names[0]), spread(b, names[1])), range(len(out), len(letters)))
