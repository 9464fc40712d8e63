"""Integers: in 32 bits where these hold a result, in 64 where they may not, or wrapped around at fewer."""

from __future__ import annotations

from typing import Optional, Sequence

from ..ranges import INTEGERS, LIMITS, Range, fits, result_of
from .constants import Constants
from .nodes import FLAGS
from .sizes import Size, is_known
from .values import Value

NARROW = ("f16", "bf16")
"""Floats as they are stored; whatever computes takes them as f32."""


class Integers(Constants):
    def cast(self, x: Value, dtype: str) -> Value:
        """Floats become integers towards 0, and flags where they are not 0. "i32" stands for integers of both widths:
        those of 64 bits stay as they are, and floats become such where 32 may not hold them."""
        if x.dtype == dtype or (x.dtype == "i64" and dtype == "i32"):
            return x
        if x.splat is not None and (dtype in ("f32", "bool") or (dtype == "i32" and abs(x.splat) < 2**31)):
            return self.constant(x.splat, dtype, x.shape)
        if dtype == "bool":
            return self.point("ne", x, 0)
        if x.dtype == "f32" and dtype == "i32" and self.wide:
            dtype = "i64"
        return self._converted(x, dtype)

    def _converted(self, x: Value, dtype: str) -> Value:
        result = self.node("convert", [x], dtype, x.shape)
        result.recipe = ("convert", (x,))
        result.place = x.place if dtype == "i32" else None
        return result

    def widened(self, x: Value) -> Value:
        """An integer of 64 bits."""
        if x.dtype == "i64":
            return x
        return self._converted(x, "i64") if x.splat is None else self.constant(x.splat, "i64", x.shape)

    def alike(self, values: Sequence[Value]) -> list[Value]:
        """Values that differ at most in the width of their integers, in one type."""
        return [self.widened(x) for x in values] if any(x.dtype == "i64" for x in values) else list(values)

    def known(self, x: Value, numbers: Optional[Range]) -> Value:
        """x, whose elements are in the range: an integer of 64 bits becomes one of 32 where these hold it."""
        if not fits(numbers, x.dtype):
            return x
        x.low, x.high = numbers
        return self._converted(x, "i32") if x.dtype == "i64" and fits(numbers, "i32") else x

    def held(self, x: Value, numbers: Optional[Range]) -> Value:
        """x in a type that holds these numbers, where integers are not to wrap around."""
        return self.widened(x) if self.wide and not fits(numbers, "i32") else x

    def pointwise(self, operation: str, *operands: Value) -> Value:
        """An operation of operands of one shape and, but for a condition and the width of integers, one type."""
        first = 1 if operation == "select" else 0
        condition, numbers = list(operands[:first]), self.alike(operands[first:])
        if numbers[0].dtype not in INTEGERS or operation in FLAGS:
            return self._pointwise(operation, condition + numbers)
        found = result_of(operation, [x.numbers for x in numbers])
        return self.known(self._pointwise(operation, condition + [self.held(x, found) for x in numbers]), found)

    def _pointwise(self, operation: str, operands: Sequence[Value]) -> Value:
        result = self.node(operation, operands)
        result.recipe = (operation, tuple(operands))
        return result

    # ---- integers that are indices

    def places(self, x: Value) -> Value:
        """Integers as indices of 32 bits. A number that these do not hold becomes the nearest one that they hold, which
        no table has a row for."""
        x = self.cast(x, "i32")
        if x.dtype != "i64":
            return x
        for operation, limit in zip(("max", "min"), LIMITS["i32"]):
            x = self._pointwise(operation, [x, self.constant(limit, "i64", x.shape)])
        return self.node("convert", [x], "i32", x.shape)

    def inside(self, x: Value, size: Size) -> Value:
        """Indices from 0 to size - 1: row i of 0, 1, 2, ... is i, and looking up any other row is an error."""
        if is_known(size):
            is_inside = x.numbers[0] >= 0 and x.numbers[1] < size
        else:
            is_inside = x.place is not None and x.place[1:] == (1, 0) and x.shape[x.place[0]] == size
        return x if is_inside else self.gather(self.iota((size,), 0), x, 0)

    def from_front(self, x: Value, size: Size) -> Value:
        """Indices below 0 count from the end."""
        if x.numbers[0] >= 0:
            return x
        with self.width(False):
            wrapped = self.select(self.point("lt", x, 0), self.add(x, size), x)
        wrapped.low = wrapped.high = None
        return wrapped
