"""Writes the nodes of one graph in Smelt's text form. Rows (the folder aten) are made of what is here."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Callable, Iterable, Iterator, Optional, Sequence, Union

import sympy
import torch

from ..errors import Error
from ..indices import Indices
from ..ranges import INTEGERS, LIMITS, Range, fits, is_exact, result_of, sum_of
from ..text import number_text
from . import tables
from .arithmetic import Arithmetic, Operand
from .complex_values import Complex, complex_table
from .dims import Dim, Shape, Sizes, expression, product, same, same_shape
from .dtypes import type_in_graph
from .facts import (
    as_f32,
    certain,
    converted,
    expression_or_float,
    is_natural,
    is_size,
    kept_axes,
    last_place,
    moved_place,
)
from .values import Number, Value

FLAGS = {"lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or", "logical_not"}
WITHOUT_DERIVATIVE = FLAGS | {"sign", "floor", "iota", "constant", "stop_gradient", "random"}
VIEWS = {"reshape", "transpose", "broadcast", "slice", "strided_slice", "windows", "convert", "stop_gradient"}


@dataclass(frozen=True)
class Node:
    """A line, with the names of its results and operands."""

    names: tuple[str, ...]
    operands: tuple[str, ...]
    text: str


class Writer(Arithmetic, Indices):
    """The nodes of a graph. Methods take values and numbers, write what is needed and return the result."""

    def __init__(
        self, sizes: Sizes, new_random_id: Callable[[], int], new_table: Callable[[torch.Tensor], Value]
    ) -> None:
        self.sizes = sizes
        self.nodes: list[Node] = []
        self.source = ""
        """The module that nodes come from, for reports."""
        self._new_random_id = new_random_id
        self._new_table = new_table
        self.natural: set[sympy.Expr] = set()
        """Sizes and places that no run may have below 0."""
        self._leaves: dict[tuple, Value] = {}
        self._count = 0
        self.wide = True
        """Whether integers are computed in 64 bits where 32 may not hold a result; else results wrap around at 32."""
        self.used_results: list[bool] = []
        self.is_64_bits = True
        """Whether the integers of the operation at hand are int64 in PyTorch."""

    @contextmanager
    def narrow(self) -> Iterator[None]:
        """Integers are computed in 32 bits for the while: places and sizes, and what is exact modulo 2^32."""
        before, self.wide = self.wide, False
        try:
            yield
        finally:
            self.wide = before

    # ---- nodes

    def node(
        self,
        operation: str,
        operands: Sequence[Value],
        types: Sequence[tuple[str, Shape]],
        attributes: str = "",
        body: tuple[str, str] = ("", ""),
        reads: Sequence[Value] = (),
    ) -> list[Value]:
        """One node of any operation. `attributes` stands between braces; a body is what stands in parentheses behind
        the operands, and its text with braces; `reads` are the values that it is given."""
        grad = operation not in WITHOUT_DERIVATIVE and any(x.grad for x in operands)
        results = []
        for dtype, shape in types:
            self.require_natural(*shape)
            results.append(Value(f"%{self._count}", dtype, shape, grad=grad and dtype == "f32"))
            self._count += 1
        words = [", ".join(x.name for x in results), "=", operation, ", ".join(x.name for x in operands), body[0]]
        words += [f'"{self.source}"' if self.source else "", f"{{{attributes}}}" if attributes else "", body[1]]
        words += [":", ", ".join(f"{dtype}{self.sizes.shape_text(shape)}" for dtype, shape in types)]
        names = tuple(x.name for x in results)
        used = tuple(x.name for x in (*operands, *reads))
        self.nodes.append(Node(names, used, "  " + " ".join(word for word in words if word)))
        return results

    def require_natural(self, *sizes: Dim) -> None:
        self.natural.update(size for size in sizes if isinstance(size, sympy.Expr))

    def text_of(self, returned: Iterable[Value]) -> list[str]:
        """The lines of what is needed for these values."""
        needed = {value.name for value in returned}
        kept = []
        for node in reversed(self.nodes):
            if needed.intersection(node.names):
                needed.update(node.operands)
                kept.append(node.text)
        return kept[::-1]

    def one(self, operation: str, operands: Sequence[Value], dtype: str, shape: Shape, attributes: str = "") -> Value:
        (result,) = self.node(operation, operands, [(dtype, shape)], attributes)
        if operation in VIEWS:
            result.low, result.high = operands[0].low, operands[0].high
        return result

    def pointwise(self, operation: str, *operands: Value) -> Value:
        """Of operands of one shape and, but for a condition, one type."""
        if (outcome := certain(operation, operands)) is not None:
            return self.constant(outcome, "bool", operands[0].shape)
        if (smaller := self._without_units(operands)) is not None:
            return self.reshape(self.pointwise(operation, *smaller), operands[0].shape)
        if operands[-1].dtype in INTEGERS or any(x.dtype == "i64" for x in operands):
            return self._whole(operation, operands)
        return self._pointwise(operation, operands)

    def _pointwise(self, operation: str, operands: Sequence[Value]) -> Value:
        dtype = "bool" if operation in FLAGS else operands[-1].dtype
        result = self.one(operation, operands, dtype, operands[0].shape)
        result.recipe = (operation, tuple(operands))
        return result

    # ---- integers

    @staticmethod
    def range_of(x: Value) -> Range:
        """The numbers that its elements can be."""
        least, most = LIMITS[x.dtype]
        return least if x.low is None else x.low, most if x.high is None else x.high

    def _whole(self, operation: str, operands: Sequence[Value]) -> Value:
        """In 32 bits where these hold the result, or where the type has no more, else in 64."""
        first = 1 if operation == "select" else 0
        condition, numbers = list(operands[:first]), self.alike(operands[first:])
        if operation in FLAGS:
            return self._pointwise(operation, numbers)
        found = result_of(operation, [self.range_of(x) for x in numbers])
        if self.wide and not fits(found, "i32"):
            numbers = [self.widened(x) for x in numbers]
        result = self._pointwise(operation, condition + numbers)
        return self.known(result, found)

    def known(self, x: Value, numbers: Optional[Range]) -> Value:
        """x, whose elements are in the range: an integer of 64 bits becomes one of 32 where these hold it."""
        if not fits(numbers, x.dtype):
            return x
        least, most = LIMITS[x.dtype]
        x.low = numbers[0] if numbers[0] > least else None
        x.high = numbers[1] if numbers[1] < most else None
        if x.dtype != "i64" or not fits(numbers, "i32"):
            return x
        narrowed = self.one("convert", [x], "i32", x.shape)
        narrowed.recipe = ("convert", (x,))
        return narrowed

    def widened(self, x: Value) -> Value:
        """An integer of 64 bits."""
        if x.dtype == "i64":
            return x
        if x.splat is not None:
            return self.constant(x.splat, "i64", x.shape)
        low, high = self.range_of(x)
        return replace(self.one("convert", [x], "i64", x.shape), low=low, high=high, recipe=("convert", (x,)))

    def alike(self, values: Sequence[Value]) -> list[Value]:
        """Values that differ at most in the width of their integers, in one type."""
        return [self.widened(x) for x in values] if any(x.dtype == "i64" for x in values) else list(values)

    def exact_node(self, operation: str, operands: Sequence[Value], dtype: str) -> Value:
        return self.one(operation, operands, dtype, operands[0].shape)

    def everywhere(self, number: int, dtype: str, shape: Shape) -> Value:
        return self.constant(number, dtype, shape)

    def in_width(self, x: Value, dtype: str) -> Value:
        """Integers as a type of at most 32 bits holds them: they wrap around at its width."""
        if x.dtype == "i64":
            x = replace(self.one("convert", [x], "i32", x.shape), low=None, high=None)
        if fits(self.range_of(x), dtype):
            return x
        stored = self.one("convert", [x], "u16" if dtype == "i16" else dtype, x.shape)
        result = self.one("convert", [stored], "i32", x.shape)
        if dtype == "i16":
            is_negative = self._pointwise("ge", [result, self.constant(2**15, "i32", x.shape)])
            below = self._pointwise("sub", [result, self.constant(2**16, "i32", x.shape)])
            result = self._pointwise("select", [is_negative, below, result])
        result.low, result.high = LIMITS[dtype]
        return result

    def _without_units(self, operands: Sequence[Value]) -> Optional[list[Value]]:
        """The operands without their dims of 1, where these were only put there: what is computed without them needs
        no reshape to be spread."""
        shape = operands[0].shape
        kept = tuple(i for i, size in enumerate(shape) if not same(size, 1))
        if len(kept) == len(shape) or all(x.splat is not None for x in operands):
            return None
        small = tuple(shape[i] for i in kept)
        result = []
        for x in operands:
            if x.splat is not None:
                result.append(self.constant(x.splat, x.dtype, small))
            elif x.spread is not None and x.spread[1] == kept and same_shape(x.spread[0].shape, small):
                result.append(x.spread[0])
            else:
                return None
        return result

    # ---- leaves

    def constant(self, number: Number, dtype: str, shape: Shape) -> Value:
        """The same number everywhere."""
        if dtype == "i32" and not fits((int(number), int(number)), "i32"):
            dtype = "i64"
        if dtype == "i64" and not is_exact(int(number)):
            return self._large(int(number), shape)
        key = (repr(number), dtype, self.sizes.shape_text(shape))
        if key not in self._leaves:
            text = self.number_text(number, dtype)
            value = self.one("constant", [], dtype, shape, f"value = {text}")
            value.splat = number
            if dtype in INTEGERS:
                value.low = value.high = int(number)
            self._leaves[key] = value
        return self._leaves[key]

    def _large(self, number: int, shape: Shape) -> Value:
        """An integer that a double, which numbers of the text are, does not hold: of its halves."""
        if not fits((number, number), "i64"):
            raise Error(f"the integer {number} does not fit 64 bits")
        upper, lower = self.constant(number >> 32, "i64", shape), self.constant(number & 0xFFFFFFFF, "i64", shape)
        scaled = self._pointwise("mul", [upper, self.constant(2**32, "i64", shape)])
        return replace(self._pointwise("add", [scaled, lower]), low=number, high=number)

    @staticmethod
    def number_text(number: Number, dtype: str) -> str:
        """As the text has it in this type."""
        if dtype == "f32":
            return number_text(float(number))
        if dtype == "bool":
            return "1" if number else "0"
        return str(int(number))

    def iota(self, shape: Shape, axis: int, step: int = 1, begin: Dim = 0) -> Value:
        """begin + step * (the index along the axis), i32."""
        with self.narrow():
            return self._iota(shape, axis, step, begin)

    def _iota(self, shape: Shape, axis: int, step: int, begin: Dim) -> Value:
        key = ("iota", axis, self.sizes.shape_text(shape))
        if key not in self._leaves:
            self._leaves[key] = self.one("iota", [], "i32", shape, f"axis = {axis}")
            self._leaves[key].low = 0
            self._leaves[key].high = self._last(shape[axis])
            self._leaves[key].place = (axis, 1, 0)
        value = self._leaves[key]
        if step != 1:
            value = self.pointwise("mul", value, self.constant(step, "i32", shape))
        if not same(begin, 0):
            value = self.pointwise("add", value, self.number(begin, "i32", shape))
        value.place = (axis, step, begin)
        if isinstance(begin, int) and step >= 0:
            value.low = begin
        return value

    def _last(self, size: Dim) -> Optional[int]:
        """The largest index along a dim of this size."""
        most = size if isinstance(size, int) else self.sizes.most(size)
        return None if most is None or most > LIMITS["i32"][1] else max(0, most - 1)

    def size(self, size: Dim) -> Value:
        """A size as a number, i32[]."""
        with self.narrow():
            return self._size(size)

    def _size(self, size: Dim) -> Value:
        if isinstance(size, int):
            return self.constant(size, "i32", ())
        if type(size).__name__ in ("Min", "Max"):
            return self._extreme(size)
        last = self.node("reduce max", [self.iota((size,), 0)], [("i32", ())], "axes = [0]")[0]
        if self.sizes.not_less(size, 1):
            last.low, last.high = 0, self._last(size)
        else:  # the largest of no places is below all numbers
            last = self.pointwise("max", last, self.constant(-1, "i32", ()))
            last.low, last.high = -1, self._last(size)
        result = self.pointwise("add", last, self.constant(1, "i32", ()))
        result.low = 0
        return result

    def _extreme(self, size: sympy.Expr) -> Value:
        """As a number it may be either."""
        kind, parts = type(size).__name__.lower(), [self.size(expression(x)) for x in size.args]
        total = parts[0]
        for part in parts[1:]:
            total = self.pointwise(kind, total, part)
        return total

    def number(self, number: Union[Number, sympy.Expr], dtype: str, shape: Shape) -> Value:
        """A number of Python or a size, everywhere."""
        if isinstance(number, sympy.Expr) and not number.is_number:
            return self.spread(self.cast(self._evaluated(number), dtype), shape)
        if isinstance(number, sympy.Expr):
            number = int(number) if number.is_Integer else float(number)
        return self.constant(number, dtype, shape)

    def _evaluated(self, number: sympy.Expr) -> Value:
        """Quotients and powers of sizes are floats; whatever text has as a size is an integer."""
        kind = type(number).__name__
        if kind in ("IntTrueDiv", "FloatTrueDiv"):
            a, b = (self.number(expression_or_float(x), "f32", ()) for x in number.args)
            return self.pointwise("div", a, b)
        if kind in ("FloatPow", "Pow") and number.args[1].is_number and not is_natural(number.args[1]):
            return self.power(self.number(number.args[0], "f32", ()), float(number.args[1]))
        if kind == "ToFloat":
            return self.cast(self._evaluated(number.args[0]), "f32")
        if kind in ("Mul", "Add") and any(x.is_Float or not is_size(x) for x in number.args):
            terms = [self.number(x, "f32", ()) for x in number.args]
            total = terms[0]
            for term in terms[1:]:
                total = self.pointwise("mul" if kind == "Mul" else "add", total, term)
            return total
        return self.size(expression(number))

    def table(self, table: torch.Tensor) -> Union[Value, Complex]:
        """A constant tensor."""
        if table.is_complex():
            return complex_table(self.table, table)
        dtype = type_in_graph(table.dtype)
        if dtype is None:
            raise Error(f"a constant tensor is {table.dtype}, which Smelt does not have")
        shape, table = tuple(table.shape), table.detach().cpu()
        splat = tables.splat_of(table)
        if splat is not None:
            return self.constant(splat, dtype, shape)
        place = tables.place_of(table)
        numbers = (int(table.min()), int(table.max())) if dtype == "i32" else None
        if place is not None and fits(numbers, "i32"):
            return self.iota(shape, *place)
        if numbers is not None and not all(is_exact(int(number)) for number in table.flatten()):
            return self._large_table(table)
        if numbers is not None and not fits(numbers, "i32"):
            dtype = "i64"
        if dtype == "f32" and table.numel() > tables.MOST_IN_TEXT:
            return self._new_table(table)
        value = self.one("constant", [], dtype, shape, f"values = {tables.values_text(as_f32(table))}")
        value.low, value.high = numbers or (None, None)
        return value

    def _large_table(self, table: torch.Tensor) -> Value:
        """Of the upper and the lower halves of the integers."""
        upper, lower = (self.widened(self.table(half)) for half in (table >> 32, table & 0xFFFFFFFF))
        scaled = self._pointwise("mul", [upper, self.constant(2**32, "i64", upper.shape)])
        return self._pointwise("add", [scaled, lower])

    # ---- types and shapes

    def cast(self, x: Value, dtype: str) -> Value:
        """Floats become integers towards 0, and flags where they are not 0, as in PyTorch. "i32" stands for integers
        of both widths: those of 64 bits stay as they are, and floats become such where 32 may not hold them."""
        if x.dtype == dtype or (x.dtype == "i64" and dtype == "i32"):
            return x
        if x.splat is not None:
            return self.constant(converted(x.splat, dtype), dtype, x.shape)
        if dtype == "bool":
            return self.pointwise("ne", x, self.constant(0, x.dtype, x.shape))
        if x.dtype == "f32" and dtype == "i32" and self.wide:
            dtype = "i64"
        result = self.one("convert", [x], dtype, x.shape)
        if x.dtype == "bool" and dtype in INTEGERS:
            result.low, result.high = 0, 1
        result.recipe = ("convert", (x,))
        result.place = x.place if dtype == "i32" else None
        return result

    def reshape(self, x: Value, shape: Shape) -> Value:
        if same_shape(x.shape, shape):
            return x
        if x.splat is not None:
            return self.constant(x.splat, x.dtype, shape)
        axes = kept_axes(x.shape, shape)
        if axes is not None and x.place is not None and moved_place(x, shape, axes) is not None:
            axis, step, begin = moved_place(x, shape, axes)
            return self.iota(shape, axis, step, begin)
        result = self.one("reshape", [x], x.dtype, shape)
        if axes is not None:
            base, base_axes = x.spread or (x, tuple(range(x.rank)))
            moved = dict(axes)
            result.spread = (base, tuple(moved.get(a, -1) for a in base_axes))
        return result

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        permutation = tuple(permutation)
        if x.turned is not None:
            base, before = x.turned
            return self.transpose(base, tuple(before[p] for p in permutation))
        if permutation == tuple(range(x.rank)):
            return x
        shape = tuple(x.shape[p] for p in permutation)
        if x.splat is not None:
            return self.constant(x.splat, x.dtype, shape)
        if x.place is not None:
            return self.iota(shape, permutation.index(x.place[0]), *x.place[1:])
        result = self.one("transpose", [x], x.dtype, shape, f"permutation = {list(permutation)}")
        result.turned = (x, permutation)
        return result

    def slice(self, x: Value, axis: int, begin: Dim, length: Dim) -> Value:
        if same(begin, 0) and same(length, x.shape[axis]):
            return x
        self.require_natural(begin, expression(sympy.expand(sympy.sympify(x.shape[axis]) - begin - length)))
        shape = x.shape[:axis] + (length,) + x.shape[axis + 1 :]
        if x.splat is not None:
            return self.constant(x.splat, x.dtype, shape)
        if x.place is not None:
            where, step, first = x.place
            return self.iota(shape, where, step, first + step * begin if where == axis else first)
        return self.one("slice", [x], x.dtype, shape, f"axis = {axis}, begin = {self.sizes.attribute(begin)}")

    def concat(self, parts: Sequence[Value], axis: int) -> Value:
        parts = self.alike([p for p in parts if not same(p.shape[axis], 0)] or list(parts[:1]))
        if len(parts) == 1:
            return parts[0]
        length = expression(sympy.expand(sum((sympy.sympify(p.shape[axis]) for p in parts), sympy.Integer(0))))
        shape = parts[0].shape[:axis] + (length,) + parts[0].shape[axis + 1 :]
        result = self.one("concat", parts, parts[0].dtype, shape, f"axis = {axis}")
        lows = [p.low for p in parts]
        result.low = None if None in lows else min(lows)
        highs = [p.high for p in parts]
        result.high = None if None in highs else max(highs)
        return result

    def spread(self, x: Value, shape: Shape) -> Value:
        """PyTorch's expand: dims line up at the end, and those of 1 are repeated."""
        if same_shape(x.shape, shape):
            return x
        if x.splat is not None:
            return self.constant(x.splat, x.dtype, shape)
        before = len(shape) - x.rank
        if x.place is not None:
            return self.iota(shape, x.place[0] + before, *x.place[1:])
        base, axes = x.spread or (x, tuple(range(x.rank)))
        return self.broadcast(base, tuple(a + before if a >= 0 else -1 for a in axes), shape)

    def broadcast(self, x: Value, axes: Sequence[int], shape: Shape) -> Value:
        """Dim i of x is dim axes[i] of the result; one of 1 may be repeated, or be none of its dims (-1)."""
        axes = tuple(axes)
        kept = [i for i, a in enumerate(axes) if a >= 0 and same(x.shape[i], shape[a])]
        if any(i not in kept and not same(size, 1) for i, size in enumerate(x.shape)):
            raise Error(
                f"a tensor of {self.sizes.shape_text(x.shape)} does not spread to {self.sizes.shape_text(shape)}"
            )
        if x.splat is not None:
            return self.constant(x.splat, x.dtype, shape)
        if x.place is not None and x.place[0] in kept:
            return self.iota(shape, axes[x.place[0]], *x.place[1:])
        places = tuple(axes[i] for i in kept)
        inner = self.reshape(x, tuple(x.shape[i] for i in kept))
        if len(places) == len(shape):
            return inner
        result = self.one("broadcast", [inner], x.dtype, shape, f"axes = {list(places)}")
        result.spread = (x, tuple(a if i in kept else -1 for i, a in enumerate(axes)))
        return result

    def operand(self, x: Operand, dtype: str, shape: Optional[Shape] = None) -> Value:
        """A value, a number or a size in the type and, where it is given, the shape."""
        if not isinstance(x, Value):
            return self.number(x, dtype, shape if shape is not None else ())
        x = self.cast(x, dtype)
        return x if shape is None else self.spread(x, shape)

    # ---- reductions and products

    def reduce(
        self, kind: str, x: Value, axes: Iterable[int], dtypes: Sequence[Optional[str]] = (None,)
    ) -> list[Value]:
        """The reduced axes go away; a result of no dtype has the operand's."""
        axes = sorted(axes)
        if not axes:
            return self._of_single(kind, x, dtypes)
        shape = tuple(d for i, d in enumerate(x.shape) if i not in axes)
        if kind == "add" and x.dtype in INTEGERS:
            return [self._whole_sum(x, axes, shape)]
        results = self.node(f"reduce {kind}", [x], [(d or x.dtype, shape) for d in dtypes], f"axes = {axes}")
        if kind in ("max", "min", "argmax") and x.dtype in INTEGERS:
            results[0].low, results[0].high = x.low, x.high
        if len(results) > 1 and dtypes[1] == "i32":
            results[1].low = 0
            results[1].high = last_place(x.shape, axes)
        return results

    def _whole_sum(self, x: Value, axes: Sequence[int], shape: Shape) -> Value:
        count = self.sizes.most(product(x.shape[axis] for axis in axes))
        found = sum_of(self.range_of(x), count)
        if self.wide and not fits(found, "i32"):
            x = self.widened(x)
        (result,) = self.node("reduce add", [x], [(x.dtype, shape)], f"axes = {list(axes)}")
        return self.known(result, found)

    def scan(self, x: Value, axis: int, kind: str) -> Value:
        """Running sums, products or maxima."""
        found = None
        if x.dtype in INTEGERS:
            found = sum_of(self.range_of(x), self.sizes.most(x.shape[axis]))
            if kind == "max":
                found = self.range_of(x)
            elif kind == "mul":
                found = (-1, 1) if fits(self.range_of(x), "bool") or self.range_of(x) == (-1, 1) else None
            if self.wide and not fits(found, "i32"):
                x = self.widened(x)
        result = self.one("scan", [x], x.dtype, x.shape, f'axis = {axis}, kind = "{kind}"')
        return self.known(result, found) if x.dtype in INTEGERS else result

    def _of_single(self, kind: str, x: Value, dtypes: Sequence[Optional[str]]) -> list[Value]:
        """What a reduction over no axes makes of each element."""
        second = {"argmax": (0, "i32"), "max_sumexp": (1.0, "f32")}
        rest = [self.constant(*second[kind], x.shape)] if len(dtypes) > 1 else []
        return [x, *rest]

    def sum(self, x: Value, axes: Iterable[int]) -> Value:
        axes = list(axes)
        return self.reduce("add", x, axes)[0] if axes else x

    def along(self, x: Value, axes: Iterable[int], shape: Shape) -> Value:
        """What a reduction over these axes gave, again over all of the shape."""
        gone = set(axes)
        return self.broadcast(x, [i for i in range(len(shape)) if i not in gone], shape)

    def matmul(self, spec: str, a: Value, b: Value) -> Value:
        left, out = spec.split("->")
        dims: dict[str, Dim] = {}
        for letters, x in zip(left.split(","), (a, b)):
            dims.update(zip(letters, x.shape))
        return self.one("matmul", [a, b], "f32", tuple(dims[c] for c in out), f'spec = "{spec}"')

    def count(self, sizes: Iterable[Dim]) -> Union[int, sympy.Expr]:
        return product(sizes)

    # ---- rows of tables

    def gather(self, table: Value, indices: Value, axis: int) -> Value:
        indices = self.places(indices)
        shape = table.shape[:axis] + indices.shape + table.shape[axis + 1 :]
        if table.splat is not None:
            return self.constant(table.splat, table.dtype, shape)
        result = self.node("gather", [table, indices], [(table.dtype, shape)], f"axis = {axis}")[0]
        result.low, result.high = table.low, table.high
        result.grad = table.grad
        return result

    @staticmethod
    def is_inside(x: Value, size: Dim) -> bool:
        """Whether all elements are known to be from 0 to size - 1."""
        if isinstance(size, int):
            return x.low is not None and x.low >= 0 and x.high is not None and x.high < size
        return x.place is not None and x.place[1:] == (1, 0) and same(x.shape[x.place[0]], size)

    def from_front(self, indices: Value, extent: Dim) -> Value:
        """Indices below 0 count from the end."""
        if indices.low is not None and indices.low >= 0:
            return indices
        with self.narrow():
            wrapped = self.select(self.binary("lt", indices, 0), self.add(indices, extent), indices)
        wrapped.low = None
        return wrapped

    def stop(self, x: Value) -> Value:
        return self.one("stop_gradient", [x], x.dtype, x.shape) if x.grad else x

    def random_id(self) -> int:
        return self._new_random_id()
