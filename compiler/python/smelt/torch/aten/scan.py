"""Running sums and products along an axis."""

from __future__ import annotations

from ..registry import refuse, row
from ..values import Value
from .shape import axis_of


def running_sum(w, x: Value, axis: int) -> Value:
    """Of each element and those before it."""
    return w.scan(x, axis, "add")


@row("aten.cumsum.default")
def cumsum(w, out, self, dim, dtype=None):
    x = w.cast(self, out.dtype)
    if self.rank == 0:
        return x
    return running_sum(w, x, axis_of(self.rank, dim))


@row("aten.cumprod.default")
def cumprod(w, out, self, dim, dtype=None):
    x = w.cast(self, out.dtype)
    if x.grad:
        refuse("the derivative of a running product")
    return w.scan(x, axis_of(self.rank, dim), "mul")
