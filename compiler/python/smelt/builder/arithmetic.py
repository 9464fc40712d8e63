"""Arithmetic on each element, of operands that spread to one shape, numbers and sizes."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from ..ranges import remainder_of
from .sizes import broadcast_shapes
from .values import Value
from .views import Views


class Arithmetic(Views):
    def common(self, operation: str, operands: Sequence[Any]) -> str:
        """The type that the operands of an operation are computed in: that of the first value."""
        return next(x.dtype for x in operands if isinstance(x, Value))

    def point(self, operation: str, *operands: Any) -> Value:
        """An operation of scalar_ops.def on each element."""
        conditions = 1 if operation == "select" else 0
        dtype = self.common(operation, operands[conditions:])
        shape = broadcast_shapes(*(x.shape for x in operands if hasattr(x, "shape")))
        return self.pointwise(
            operation,
            *(self.operand(x, "bool", shape) for x in operands[:conditions]),
            *(self.operand(x, dtype, shape) for x in operands[conditions:]),
        )

    def pointwise(self, operation: str, *operands: Value) -> Value:
        if (outcome := _certain(operation, operands)) is not None:
            return self.constant(outcome, "bool", operands[0].shape)
        if (smaller := self._without_units(operands)) is not None:
            return self.reshape(self.pointwise(operation, *smaller), operands[0].shape)
        return super().pointwise(operation, *operands)

    def _without_units(self, operands: Sequence[Value]) -> Optional[list[Value]]:
        """The operands without their dims of 1, where these were only put there: what is computed without them needs
        no reshape to be spread. A body has no reshapes."""
        shape = operands[0].shape
        kept = tuple(i for i, size in enumerate(shape) if size != 1)
        if self.block.is_body or len(kept) == len(shape) or all(x.splat is not None for x in operands):
            return None
        small = tuple(shape[i] for i in kept)
        is_spread = [x.spread is not None and x.spread[1] == kept and x.spread[0].shape == small for x in operands]
        if not all(x.splat is not None or spreads for x, spreads in zip(operands, is_spread)):
            return None
        return [self.constant(x.splat, x.dtype, small) if x.splat is not None else x.spread[0] for x in operands]

    def add(self, a: Any, b: Any) -> Value:
        return a if _is_number(b, 0) and isinstance(a, Value) else self.point("add", a, b)

    def sub(self, a: Any, b: Any) -> Value:
        return self.point("sub", a, b)

    def mul(self, a: Any, b: Any) -> Value:
        return a if _is_number(b, 1) and isinstance(a, Value) else self.point("mul", a, b)

    def div(self, a: Any, b: Any) -> Value:
        return self.point("div", a, b)

    def select(self, condition: Any, then: Any, other: Any) -> Value:
        return self.point("select", condition, then, other)

    def floor_div(self, a: Value, b: Any) -> Value:
        """The quotient of integers, rounded down: that towards 0 is one too large where the signs differ and it is not
        exact. The remainder is exact modulo 2^32, and the quotient fits where the one towards 0 does."""
        b = self.operand(b, a.dtype)
        quotient = self.div(a, b)
        if a.numbers[0] >= 0 and b.numbers[0] >= 0:
            return quotient
        with self.width(False):
            rest = self.sub(a, self.mul(quotient, b))
            differs = self.point("ne", self.point("lt", rest, 0), self.point("lt", b, 0))
            low = self.both(self.point("ne", rest, 0), differs)
            return self.sub(quotient, self.cast(low, "i32"))

    def remainder(self, a: Value, b: Value, floors: bool) -> Value:
        """a - quotient * b of integers, exact in as many bits as a and b have."""
        numbers = remainder_of(a.numbers, b.numbers, floors)
        whole = self.floor_div(a, b) if floors else self.div(a, b)
        with self.width(False):
            return self.known(self.sub(a, self.mul(whole, b)), numbers)

    def both(self, a: Value, b: Value) -> Value:
        """a and b; what is true everywhere leaves no trace."""
        for x, other in ((a, b), (b, a)):
            if x.splat is not None and bool(x.splat):
                return self.spread(other, broadcast_shapes(a.shape, b.shape))
        return self.point("logical_and", a, b)


def _certain(operation: str, operands: Sequence[Value]) -> Optional[bool]:
    """The result of a comparison with a number that no element is below, or that all are."""
    if operation not in ("ge", "lt") or operands[1].splat is None or operands[0].low is None:
        return None
    return operation == "ge" if operands[0].low >= operands[1].splat else None


def _is_number(x: Any, number: int) -> bool:
    return type(x) in (int, float) and x == number
