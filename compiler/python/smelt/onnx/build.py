"""What ONNX adds to the builder: types of mixed operands, weights and tensors without elements.

A tensor without elements is in no graph: it is a value without a name, which concatenations skip and reductions answer
with their identity.
"""

from __future__ import annotations

import math
from typing import Any, Iterable, Mapping, Optional, Sequence

import numpy

from .. import builder
from ..builder.constants import type_of
from ..builder.integers import NARROW
from ..builder.operations import LOGICAL, REALS
from ..builder.sizes import Dim, Ranges, Shape, Size, is_known, product
from ..builder.values import Value
from ..ranges import INTEGERS, LIMITS
from ..text import Block, Parameter, quoted
from .refusal import Refusal

RANKS = ("bool", "i32", "i64", "f32")
FREE = ("select", "eq", "ne", "max", "min")
"""Operations that take flags as they are; others take them as integers."""


def is_empty(shape: Shape) -> bool:
    return any(is_known(size) and size == 0 for size in shape)


class Builder(builder.Builder):
    def __init__(self, block: Block, bounds: Mapping[str, int] = {}) -> None:
        super().__init__(block, Ranges({(name,): (1, most) for name, most in bounds.items()}), wide=False)
        self.parameters: dict[str, Parameter] = {}

    def nodes(
        self, operation: str, operands: Sequence[Value], types: Sequence, body: Any = None, **fields: Any
    ) -> list[Value]:
        if any(is_empty(shape) for _, shape in types):
            return [Value("", dtype, tuple(shape)) for dtype, shape in types]
        if not all(x.name for x in operands):
            raise Refusal("a tensor without elements here")
        return super().nodes(operation, operands, types, body, **fields)

    def weights(self, array: numpy.ndarray, name: Optional[str]) -> Value:
        name = name or f"constant.{len(self.parameters)}"
        known = self.parameters.get(name)
        if known is not None and known.values is not array:
            name = f"{name}.{len(self.parameters)}"
        self.parameters[name] = Parameter(name, "f32", array.shape, array)
        return self.node(f"parameter {quoted(name)}", [], "f32", array.shape)

    def common(self, operation: str, operands: Sequence[Any]) -> str:
        """The type that holds the numbers of all operands, as NumPy has it."""
        types = [x.dtype if isinstance(x, Value) else "i32" if isinstance(x, Dim) else type_of(x) for x in operands]
        dtype = max(("f32" if each in NARROW else each for each in types), key=RANKS.index)
        if operation in LOGICAL or operation in REALS:
            return "bool" if operation in LOGICAL else "f32"
        return "i32" if dtype == "bool" and operation not in FREE else dtype

    def reshape(self, x: Value, shape: Sequence[Size]) -> Value:
        if product(x.shape) != product(shape):
            raise Refusal(f"a tensor of {x.type} reshaped to [{', '.join(map(str, shape))}]")
        return super().reshape(x, shape)

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
        if not a.name or not b.name:
            return self.constant(0, a.dtype, tuple(sizes[letter] for letter in out))
        if a.dtype in NARROW or a.dtype == "f32":
            return super().matmul(spec, a, b)
        letters = out + "".join(sorted(set("".join(names)) - set(out)))

        def spread(x: Value, own: str) -> Value:
            moved = self.transpose(x, sorted(range(len(own)), key=lambda i: letters.index(own[i])))
            return self.reshape(moved, [sizes[letter] if letter in own else 1 for letter in letters])

        return self.sum(self.mul(spread(a, names[0]), spread(b, names[1])), range(len(out), len(letters)))
