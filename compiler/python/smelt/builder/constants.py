"""Numbers of the program as values: the same everywhere, places, tables and sizes."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any, Optional

import numpy

from ..errors import Error
from ..ranges import LIMITS, Range, fits, is_exact
from .nodes import Nodes
from .sizes import Dim, Shape, Size, is_known
from .values import Number, Value

MOST_IN_TEXT = 4096
"""Floats of a larger table are a frozen parameter, in a file beside the text. Integers stay in the text, since a
parameter may be stored in bf16."""


class Constants(Nodes):
    def constant(self, number: Number, dtype: str, shape: Shape = ()) -> Value:
        """The same number everywhere."""
        number = converted(number, dtype)
        if dtype == "i32" and not fits((number, number), "i32"):
            dtype = "i64"
        if dtype == "i64" and not is_exact(number):
            value = self._of_halves(number, shape)
        else:
            value = replace(self.node("constant", [], dtype, shape, value=number), splat=number)
        value.low = value.high = number if dtype in LIMITS else None
        return value

    def _of_halves(self, numbers: Any, shape: Shape = ()) -> Value:
        """Integers that a double, which numbers of the text are, does not hold: an int or an array of them."""
        _check_wide(numbers)
        make = self.table if isinstance(numbers, numpy.ndarray) else lambda half: self.constant(half, "i64", shape)
        upper, lower = (self.widened(make(half)) for half in (numbers >> 32, numbers & 0xFFFFFFFF))
        scaled = self.node("mul", [upper, self.constant(2**32, "i64", upper.shape)])
        return self.node("add", [scaled, lower])

    def table(self, array: Any, name: Optional[str] = None) -> Value:
        """NumPy's numbers; `name`: of the weights that they are."""
        array = numpy.asarray(array)
        dtype = type_of(array)
        if array.size == 0 or array.size == 1 or name is None and (array == array.flat[0]).all():
            return self.constant(array.flat[0].item() if array.size else 0, dtype, array.shape)
        if dtype == "f32" and (name or array.size > MOST_IN_TEXT):
            return self.weights(array, name)
        if dtype == "i32":
            return self._integers(array)
        return self._listed(array, dtype, float if dtype == "f32" else int)

    def weights(self, array: Any, name: Optional[str]) -> Value:
        """A parameter that is not trained."""
        raise NotImplementedError

    def _integers(self, array: numpy.ndarray) -> Value:
        numbers = int(array.min()), int(array.max())
        steps = steps_of(array)
        if fits(numbers, "i32") and steps is not None:
            return self.iota(array.shape, *steps)
        _check_wide(array)
        if not all(is_exact(int(number)) for number in array.flat):
            return self._of_halves(array.astype(numpy.int64))
        value = self._listed(array, "i32" if fits(numbers, "i32") else "i64", int)
        value.low, value.high = numbers
        return value

    def _listed(self, array: numpy.ndarray, dtype: str, kind: type) -> Value:
        return self.node("constant", [], dtype, array.shape, values=[kind(number) for number in array.flat])

    def iota(self, shape: Shape, axis: int, step: Size = 1, begin: Size = 0) -> Value:
        """begin + step * (the index along the axis), i32."""
        value = self.node("iota", [], "i32", shape, axis=axis)
        value.low, value.high = 0, self.last(shape[axis])
        with self.width(False):
            value = value if step == 1 else self.mul(value, step)
            value = value if begin == 0 else self.add(value, begin)
        value.place = (axis, step, begin)
        if is_known(begin) and is_known(step) and step >= 0:
            value.low = begin
        return value

    def last(self, size: Size) -> Optional[int]:
        """The largest index along a dim of this size."""
        found = self.ranges.most(size)
        return None if found is None or found > LIMITS["i32"][1] else max(0, found - 1)

    def size(self, size: Size) -> Value:
        """A size as a number, i32[]: the last index below it, and one."""
        if is_known(size):
            return self.constant(size, "i32")
        with self.width(False):
            if (extreme := self.ranges.extreme_of(str(size))) is not None:
                return functools.reduce(lambda a, b: self.point(extreme[0], a, b), map(self.size, extreme[1]))
            last = self.node("reduce max", [self.iota((size,), 0)], axes=[0])
            least = 0
            if not self.ranges.is_natural(size - 1):  # the largest of no places is below all numbers
                last, least = self.point("max", last, -1), -1
            last.low, last.high = least, self.last(size)
            return self.add(last, 1)

    def lifted(self, x: Any, dtype: Optional[str] = None, shape: Optional[Shape] = None) -> Value:
        """A number, a size or an array as a value; the type and the shape are those of a plain number."""
        if isinstance(x, Dim):
            return self.size(x)
        if isinstance(x, (bool, int, float)):
            return self.constant(x, dtype or type_of(x), shape or ())
        return self.table(x)


def converted(number: Number, dtype: str) -> Number:
    if dtype == "bool":
        return int(bool(number))
    return float(number) if dtype in ("f32", "f16", "bf16") else math.trunc(number)


def type_of(x: Any) -> str:
    """The type of a number or an array that is no value."""
    kind = numpy.asarray(x).dtype.kind
    return "f32" if kind in "fV" else "bool" if kind == "b" else "i32"


def _check_wide(numbers: Any) -> None:
    ends: Range = (numbers, numbers) if isinstance(numbers, int) else (int(numbers.min()), int(numbers.max()))
    if not fits(ends, "i64"):
        raise Error(f"the integer {ends[0] if ends[0] < 0 else ends[1]} does not fit 64 bits")


def steps_of(array: numpy.ndarray) -> Optional[tuple[int, int, int]]:
    """(axis, step, begin) of integers that count along one axis."""
    for axis, size in enumerate(array.shape):
        if size < 2:
            continue
        row = numpy.moveaxis(array, axis, -1).reshape(-1, size)
        begin, step = int(row[0, 0]), int(row[0, 1]) - int(row[0, 0])
        if (row == begin + step * numpy.arange(size)).all():
            return axis, step, begin
    return None
