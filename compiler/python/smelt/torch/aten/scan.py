"""Running sums, products and extremes along an axis, and the product of a whole axis."""

from __future__ import annotations

from typing import Callable

from ...builder import Value
from ...builder.sizes import product
from ..registry import refuse, row
from .shape import axis_of, with_a_dim


def running_sum(w, x: Value, axis: int) -> Value:
    """The sum of each element and those before it."""
    return w.scan(x, axis, "add")


def running_extreme(w, x: Value, axis: int) -> Value:
    """The largest of each element and those before it."""
    return w.scan(x, axis, "max")


@row("aten.cumsum.default")
def cumsum(w, out, self, dim, dtype=None):
    x = w.cast(self, out.dtype)
    if self.rank == 0:
        return x
    return running_sum(w, x, axis_of(self.rank, dim))


@row("aten.cumprod.default")
@with_a_dim
def cumprod(w, out, self, dim, dtype=None):
    x, axis = w.cast(self, out.dtype), axis_of(self.rank, dim)
    if not x.grad:
        return w.scan(x, axis, "mul")
    return by_doubling(w, x, axis, 1.0, w.mul)


def by_doubling(w, x: Value, axis: int, neutral: float, combine: Callable[[Value, Value], Value]) -> Value:
    """A running combination in log2(size) steps, each of which combines with the elements 1, 2, 4, ... before."""
    size = x.shape[axis]
    if not isinstance(size, int):
        refuse("the derivative of a running product or logarithm along a dim whose size changes")
    step = 1
    while step < size:
        before = w.slice(w.pad(x, axis, step, 0, neutral), axis, 0, size)
        x = combine(before, x)
        step *= 2
    return x


# ---- products


@row("aten.prod.default", "aten.prod.dim_int")
def prod(w, out, self, dim=None, keepdim=False, dtype=None):
    x = w.cast(self, out.dtype)
    if dim is None:
        x, axis = w.reshape(x, (product(x.shape),)), 0
    elif x.rank == 0:
        return w.reshape(x, out.shape)
    else:
        axis = axis_of(x.rank, dim)
    return w.reshape(product_along(w, x, axis), out.shape)


def product_along(w, x: Value, axis: int) -> Value:
    """Multiplies halves, whose derivatives need no division; along a dim whose size changes takes the last running
    product."""
    size = x.shape[axis]
    if not isinstance(size, int):
        if x.grad:
            refuse("the derivative of a product along a dim whose size changes")
        return w.slice(w.scan(x, axis, "mul"), axis, size - 1, 1)
    if size == 0:
        return w.constant(1, x.dtype, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
    while size > 1:
        half = (size + 1) // 2
        rest = w.pad(w.slice(x, axis, half, size - half), axis, 0, 2 * half - size, 1)
        x, size = w.mul(w.slice(x, axis, 0, half), rest), half
    return x
