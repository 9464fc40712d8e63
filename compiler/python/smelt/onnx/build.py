"""Writes nodes of the text form with NumPy's habits: broadcasting, mixed types, negative axes, numbers as operands.

A tensor without elements is in no graph: it is a value without a name, which concatenations skip and reductions answer
with their identity.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

import numpy

from ..indices import Indices
from ..ranges import INTEGERS, LIMITS, Range, fits, is_exact, result_of
from ..text import Graph, Parameter, Symbol, Value
from .dims import Dim, Size, is_known, most, product
from .facts import Facts, only_axis, steps_of
from .refusal import Refusal
from .shapes import Shape, broadcast_shapes, is_empty
from .sums import NARROW, RANKS, Sums

Operand = Union[Value, int, float, bool, numpy.ndarray]

FLAGS = {"lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or", "logical_not"}
REALS = {"exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "erf", "sin", "cos", "floor"}
MOST_VALUES = 4096
"""Larger tables of floats are parameters, whose numbers lie in the file of weights."""


class Builder(Sums, Indices):
    def __init__(self, graph: Graph, bounds: Mapping[str, int] = {}) -> None:
        self.graph = graph
        self.bounds = bounds
        """Of the symbols."""
        self.parameters: dict[str, Parameter] = {}
        self.facts = Facts()
        self._constants: dict[Any, Value] = {}
        self.wide = False
        """Whether integers are computed in 64 bits where 32 may not hold a result; else results wrap around at 32."""

    @contextmanager
    def width(self, is_wide: bool) -> Iterator[None]:
        before, self.wide = self.wide, is_wide
        try:
            yield
        finally:
            self.wide = before

    # ---- nodes and constants

    def node(
        self, operation: str, operands: Sequence[Value], dtype: str, shape: Sequence[Size], **fields: Any
    ) -> Value:
        if is_empty(shape):
            return Value("", dtype, tuple(shape))
        for operand in operands:
            if not operand.name:
                raise Refusal("a tensor without elements here")
        result = self.graph.node(operation, operands, dtype, shape, **fields)
        self.facts.learn(operation, operands, result, fields)
        return result

    def full(self, number: Any, dtype: str, shape: Shape = ()) -> Value:
        """One number everywhere."""
        number = float(number) if dtype == "f32" else int(number)
        if dtype == "i32" and not fits((number, number), "i32"):
            dtype = "i64"
        if dtype == "i64" and not is_exact(number):
            return self._halves(self.full(number >> 32, "i64", shape), self.full(number & 0xFFFFFFFF, "i64", shape))
        key = (repr(number), dtype, tuple(map(str, shape)))
        if key not in self._constants:
            self._constants[key] = self.node("constant", [], dtype, shape, value=number)
        return self._constants[key]

    def table(self, array: numpy.ndarray, name: Optional[str] = None) -> Value:
        """A constant of NumPy's numbers; `name`: of the weights that it is."""
        array = numpy.asarray(array)
        dtype = "f32" if array.dtype.kind in "fV" else "bool" if array.dtype.kind == "b" else "i32"
        if array.size == 1 or array.size and name is None and (array == array.flat[0]).all():
            return self.full(array.flat[0].item(), dtype, array.shape)
        if array.size and dtype == "f32" and (name or array.size > MOST_VALUES):
            return self._weights(array, name)
        if dtype == "i32" and array.size and not fits((int(array.min()), int(array.max())), "i32"):
            return self._wide_table(array)
        if dtype == "i32":
            steps = steps_of(array)
            if steps is not None:
                axis, begin, step = steps
                with self.width(False):
                    return self.add(self.mul(self.iota(array.shape, axis), step), begin)
        key = (array.tobytes(), str(array.dtype), array.shape)
        if key not in self._constants:
            kind = float if dtype == "f32" else int
            numbers = [kind(number) for number in array.ravel()]
            self._constants[key] = self.node("constant", [], dtype, array.shape, values=numbers)
        return self._constants[key]

    def _wide_table(self, array: numpy.ndarray) -> Value:
        """Integers of 64 bits; those that a double, which numbers of the text are, does not hold are of two halves."""
        if int(array.max()) > LIMITS["i64"][1]:
            raise Refusal(f"the constant {int(array.max())}, which 63 bits and a sign do not hold")
        array = array.astype(numpy.int64)
        if all(is_exact(int(number)) for number in array.ravel()):
            return self.node("constant", [], "i64", array.shape, values=[int(number) for number in array.ravel()])
        return self._halves(*(self.widened(self.table(half)) for half in (array >> 32, array & 0xFFFFFFFF)))

    def _halves(self, upper: Value, lower: Value) -> Value:
        scaled = self.node("mul", [upper, self.full(2**32, "i64", upper.shape)], "i64", upper.shape)
        return self.node("add", [scaled, lower], "i64", upper.shape)

    # ---- integers

    def widened(self, x: Value) -> Value:
        """An integer of 64 bits."""
        return x if x.dtype == "i64" else self.node("convert", [x], "i64", x.shape)

    def alike(self, values: Sequence[Value]) -> list[Value]:
        """Values that differ at most in the width of their integers, in one type."""
        return [self.widened(x) for x in values] if any(x.dtype == "i64" for x in values) else list(values)

    def known(self, x: Value, numbers: Optional[Range]) -> Value:
        """x, whose elements are in the range: an integer of 64 bits becomes one of 32 where these hold it."""
        if not x.name or not fits(numbers, x.dtype):
            return x
        self.facts.ranges[x.name] = numbers
        return self.node("convert", [x], "i32", x.shape) if x.dtype == "i64" and fits(numbers, "i32") else x

    def exact_node(self, operation: str, operands: Sequence[Value], dtype: str) -> Value:
        return self.node(operation, operands, dtype, operands[0].shape)

    def everywhere(self, number: int, dtype: str, shape: Shape) -> Value:
        return self.full(number, dtype, shape)

    def is_inside(self, x: Value, size: Size) -> bool:
        """Whether all elements are known to be from 0 to size - 1."""
        least, most = self.facts.range_of(x)
        return is_known(size) and least >= 0 and most < size

    def _whole(self, operation: str, condition: Sequence[Value], numbers: Sequence[Value]) -> Value:
        """In 32 bits where these hold the result, or where the type has no more, else in 64."""
        found = result_of(operation, [self.facts.range_of(x) for x in numbers])
        if self.wide and not fits(found, "i32"):
            numbers = [self.widened(x) for x in numbers]
        dtype, shape = numbers[0].dtype, numbers[0].shape
        return self.known(self.node(operation, [*condition, *numbers], dtype, shape), found)

    def _weights(self, array: numpy.ndarray, name: Optional[str]) -> Value:
        name = name or f"constant.{len(self.parameters)}"
        known = self.parameters.get(name)
        if known is not None and known.values is not array:
            name = f"{name}.{len(self.parameters)}"
        self.parameters[name] = Parameter(name, "f32", array.shape, array)
        return self.graph.parameter(self.parameters[name])

    def lift(self, x: Operand, dtype: Optional[str] = None) -> Value:
        if isinstance(x, Value):
            return x if dtype is None else self.cast(x, dtype)
        if isinstance(x, Dim):
            return self.cast(self.size(x), dtype or "i32")
        array = numpy.asarray(x)
        if array.dtype == object:
            return self.cast(self.sizes(array), dtype or "i32")
        if array.size == 0:
            return Value("", dtype or "f32", array.shape)
        value = self.table(array)
        return value if dtype is None else self.cast(value, dtype)

    def size(self, size: Size) -> Value:
        """A size as a number of the graph: the last index below it, and one."""
        if is_known(size):
            return self.full(size, "i32")
        last = self.reduce("max", self.iota((size,), 0), [0])
        return self.add(last, 1)

    def sizes(self, array: numpy.ndarray) -> Value:
        if all(is_known(each) for each in array.flat):
            return self.table(array.astype(numpy.int64))
        parts = [self.reshape(self.size(each), (1,)) for each in array.flat]
        return self.reshape(self.concat(parts, 0), array.shape)

    def iota(self, shape: Shape, axis: int) -> Value:
        steps = self.node("iota", [], "i32", shape, axis=axis)
        length = most(shape[axis], self.bounds)
        return steps if length is None or length < 1 else self.known(steps, (0, length - 1))

    def cast(self, x: Value, dtype: str) -> Value:
        """Floats become truncated integers, and flags of what is not zero. "i32" stands for integers of both widths:
        those of 64 bits stay as they are, and floats become such where 32 may not hold them."""
        if x.dtype == dtype or (x.dtype == "i64" and dtype == "i32"):
            return x
        if dtype == "bool":
            return self.point("ne", x, 0)
        if x.dtype == "f32" and dtype == "i32" and self.wide:
            dtype = "i64"
        return self.node("convert", [x], dtype, x.shape)

    # ---- shapes

    def broadcast(self, x: Operand, shape: Sequence[Size]) -> Value:
        x, shape = self.lift(x), tuple(shape)
        if x.shape == shape:
            return x
        if is_empty(shape):
            return Value("", x.dtype, shape)
        if broadcast_shapes([x.shape, shape]) != shape:
            raise Refusal(f"a tensor of {x.type} broadcast to [{', '.join(map(str, shape))}]")
        skipped = len(shape) - len(x.shape)
        kept = [i for i, size in enumerate(x.shape) if size == shape[i + skipped]]
        if x.name in self.facts.numbers and x.shape:
            return self.full(self.facts.numbers[x.name], x.dtype, shape)
        squeezed = self.reshape(x, [x.shape[i] for i in kept])
        if squeezed.shape == shape:
            return squeezed
        return self.node("broadcast", [squeezed], x.dtype, shape, axes=[i + skipped for i in kept])

    def reshape(self, x: Operand, shape: Sequence[Size]) -> Value:
        x, shape = self.lift(x), tuple(shape)
        if x.shape == shape:
            return x
        if product(x.shape) != product(shape):
            raise Refusal(f"a tensor of {x.type} reshaped to [{', '.join(map(str, shape))}]")
        if x.name in self.facts.numbers:
            return self.full(self.facts.numbers[x.name], x.dtype, shape)
        if x.name in self.facts.axes and only_axis(x.shape) == self.facts.axes[x.name]:
            axis = only_axis(shape)
            if axis is not None:
                return self.iota(shape, axis)
        return self.node("reshape", [x] if x.name else [], x.dtype, shape)

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        permutation = [p % len(x.shape) for p in permutation]
        if permutation == list(range(len(x.shape))):
            return x
        if x.name in self.facts.numbers:
            return self.full(self.facts.numbers[x.name], x.dtype, tuple(x.shape[p] for p in permutation))
        return self.node("transpose", [x], x.dtype, [x.shape[p] for p in permutation], permutation=permutation)

    def move(self, x: Value, source: int, destination: int) -> Value:
        order = [i for i in range(len(x.shape)) if i != source % len(x.shape)]
        order.insert(destination % len(x.shape), source % len(x.shape))
        return self.transpose(x, order)

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        shape = list(x.shape)
        for axis in sorted(a % (len(x.shape) + len(axes)) for a in axes):
            shape.insert(axis, 1)
        return self.reshape(x, shape)

    def squeeze(self, x: Value, *axes: int) -> Value:
        gone = {a % len(x.shape) for a in axes}
        return self.reshape(x, [size for i, size in enumerate(x.shape) if i not in gone])

    def slice(self, x: Value, axis: int, begin: Size, length: Size) -> Value:
        axis %= len(x.shape)
        if begin == 0 and length == x.shape[axis]:
            return x
        shape = list(x.shape)
        shape[axis] = length
        if x.name in self.facts.numbers:
            return self.full(self.facts.numbers[x.name], x.dtype, tuple(shape))
        if x.name in self.facts.axes:
            steps = self.iota(tuple(shape), self.facts.axes[x.name])
            return self.add(steps, begin) if axis == self.facts.axes[x.name] else steps
        begin = begin if is_known(begin) else Symbol(f"dim({begin})")
        return self.node("slice", [x], x.dtype, shape, axis=axis, begin=begin)

    def strided(self, x: Value, axis: int, begin: Size, step: int, length: Size) -> Value:
        """Every step-th element, backwards where the step is negative."""
        if step == 1:
            return self.slice(x, axis, begin, length)
        if is_empty(list(x.shape) + [length]):
            return Value("", x.dtype, tuple(length if i == axis else s for i, s in enumerate(x.shape)))
        places = self.add(self.mul(self.iota((length,), 0), step), begin)
        return self.gather(x, places, axis)

    def reverse(self, x: Value, axis: int) -> Value:
        return self.strided(x, axis, x.shape[axis] - 1, -1, x.shape[axis])

    def concat(self, parts: Sequence[Value], axis: int) -> Value:
        axis %= len(parts[0].shape)
        total = parts[0].shape[axis]
        for part in parts[1:]:
            total = total + part.shape[axis]
        shape = [total if i == axis else size for i, size in enumerate(parts[0].shape)]
        full = self.alike([self._laid_out(part) for part in parts if part.name])
        if len(full) == 1:
            return full[0]
        return self.node("concat", full, full[0].dtype if full else parts[0].dtype, shape, axis=axis)

    def _laid_out(self, x: Value) -> Value:
        """One number everywhere, as a broadcast: concatenations take no constant of more than one element."""
        if x.name not in self.facts.numbers or not x.shape:
            return x
        number = self.full(self.facts.numbers[x.name], x.dtype)
        return self.node("broadcast", [number], x.dtype, x.shape, axes=[])

    def pad(self, x: Value, axis: int, before: Size, after: Size, number: Operand = 0) -> Value:
        """Negative paddings cut."""
        if is_known(before) and before < 0:
            x, before = self.slice(x, axis, -before, x.shape[axis] + before), 0
        if is_known(after) and after < 0:
            x, after = self.slice(x, axis, 0, x.shape[axis] + after), 0
        axis %= len(x.shape)

        def block(length: Size) -> Value:
            shape = [length if i == axis else size for i, size in enumerate(x.shape)]
            return self.broadcast(self.lift(number, x.dtype), shape)

        parts = ([block(before)] if before != 0 else []) + [x] + ([block(after)] if after != 0 else [])
        return self.concat(parts, axis)

    def gather(self, table: Value, places: Operand, axis: int) -> Value:
        places = self.places(self.lift(places, "i32"))
        axis %= len(table.shape)
        shape = table.shape[:axis] + places.shape + table.shape[axis + 1 :]
        if table.name in self.facts.numbers:
            return self.full(self.facts.numbers[table.name], table.dtype, shape)
        return self.node("gather", [table, places], table.dtype, shape, axis=axis)

    def windows(self, x: Value, axis: int, size: int, stride: int, dilation: int, count: Size) -> Value:
        """The axis becomes two: which window, and the place in it."""
        axis %= len(x.shape)
        if size == 1 and stride == 1:
            return self.unsqueeze(self.slice(x, axis, 0, count), axis + 1)
        if stride == size and dilation == 1 and is_known(count):
            cut = self.slice(x, axis, 0, count * size)
            return self.reshape(cut, cut.shape[:axis] + (count, size) + cut.shape[axis + 1 :])
        first = self.mul(self.iota((count, size), 0), stride)
        return self.gather(x, self.add(first, self.mul(self.iota((count, size), 1), dilation)), axis)

    # ---- arithmetic

    def point(self, operation: str, *operands: Operand) -> Value:
        """An operation of scalar_ops.def on each element, after what NumPy does to types and shapes."""
        choice = operation == "select"
        first, rest = (operands[:1], operands[1:]) if choice else ((), operands)
        dtype = self._common(operation, rest)
        values = [self.lift(x, "bool") for x in first] + [self.lift(x, dtype) for x in rest]
        shape = broadcast_shapes(value.shape for value in values)
        if is_empty(shape):
            return Value("", "bool" if operation in FLAGS else dtype, shape)
        values = [self.spread(value, shape) for value in values]
        if dtype in INTEGERS:
            values = values[: len(first)] + self.alike(values[len(first) :])
            if operation not in FLAGS:
                return self._whole(operation, values[: len(first)], values[len(first) :])
        return self.node(operation, values, "bool" if operation in FLAGS else dtype, shape)

    def spread(self, value: Value, shape: Shape) -> Value:
        return self.broadcast(value, shape)

    def _common(self, operation: str, operands: Sequence[Operand]) -> str:
        typed = ["f32" if x.dtype in NARROW else x.dtype for x in operands if isinstance(x, Value)]
        free = [
            "f32" if isinstance(x, float) else "i32" if type(x) is int else "bool"
            for x in operands
            if type(x) in (bool, int, float)
        ]
        free += [
            "f32" if x.dtype.kind in "fV" else "bool" if x.dtype.kind == "b" else "i32"
            for x in operands
            if isinstance(x, (numpy.ndarray, numpy.generic))
        ]
        free += ["i32" for x in operands if isinstance(x, Dim)]
        dtype = max(typed + free, key=RANKS.__getitem__)
        if operation in ("logical_and", "logical_or", "logical_not"):
            return "bool"
        if operation in REALS:
            return "f32"
        return "i32" if dtype == "bool" and operation not in ("select", "eq", "ne", "max", "min") else dtype

    def add(self, a: Operand, b: Operand) -> Value:
        return a if _is_number(b, 0) and isinstance(a, Value) else self.point("add", a, b)

    def sub(self, a: Operand, b: Operand) -> Value:
        return self.point("sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Value:
        return a if _is_number(b, 1) and isinstance(a, Value) else self.point("mul", a, b)

    def div(self, a: Operand, b: Operand) -> Value:
        return self.point("div", a, b)

    def select(self, condition: Operand, then: Operand, other: Operand) -> Value:
        return self.point("select", condition, then, other)

    def floor_div(self, a: Value, b: Operand) -> Value:
        """Of integers, rounded down. The remainder is exact modulo 2^32, and the quotient fits where the one towards 0
        does."""
        down = self.div(a, b)
        with self.width(False):
            return self._rounded_down(a, b, down)

    def _rounded_down(self, a: Value, b: Operand, down: Value) -> Value:
        rest = self.sub(a, self.mul(down, b))
        wrong = self.point(
            "logical_and",
            self.point("ne", rest, 0),
            self.point("ne", self.point("lt", rest, 0), self.point("lt", self.lift(b), 0)),
        )
        return self.sub(down, self.cast(wrong, "i32"))


def _is_number(x: Any, number: int) -> bool:
    return type(x) in (int, float) and x == number
