"""Tensors that are made of nothing but their shape."""

from __future__ import annotations

from dataclasses import replace

from ..registry import refuse, row
from ..values import Value


@row("aten.full.default", "aten.full_like.default", "aten.new_full.default")
def full(w, out, self=None, size=None, fill_value=0, dtype=None):
    return w.operand(fill_value, out.dtype, out.shape)


@row(
    "aten.zeros.default",
    "aten.zeros_like.default",
    "aten.new_zeros.default",
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.empty_permuted.default",
    "aten.empty_strided.default",
    "aten.new_empty.default",
    "aten.new_empty_strided.default",
)
def zeros(w, out, **_):
    return w.constant(0, out.dtype, out.shape)


@row("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(w, out, self=None, size=None, dtype=None):
    return w.constant(1, out.dtype, out.shape)


@row("aten.fill.Scalar", "aten.fill.Tensor")
def fill(w, out, self, value):
    return w.operand(value, out.dtype, out.shape)


@row("aten.scalar_tensor.default")
def scalar_tensor(w, out, s, dtype=None):
    value = w.number(s, out.dtype, ())
    return replace(value, size=s) if out.dtype == "i32" else value


@row("aten.arange.start_step", "aten.arange.start", "aten.arange.default")
def arange(w, out, end, start=0, step=1, dtype=None):
    if out.dtype == "i32" and isinstance(step, int):
        return w.iota(out.shape, 0, step, start)
    places = w.cast(w.iota(out.shape, 0), "f32")
    return w.cast(w.add(w.mul(places, step), w.number(start, "f32", out.shape)), out.dtype)


@row("aten.linspace.default")
def linspace(w, out, start, end, steps, dtype=None):
    """From both ends, as PyTorch computes it, so that the last element is the end."""
    places = w.cast(w.iota(out.shape, 0), "f32")
    if steps == 1:
        return w.constant(start, out.dtype, out.shape)
    step = (end - start) / (steps - 1)
    up = w.add(w.mul(places, step), start)
    down = w.binary("sub", end, w.mul(w.binary("sub", steps - 1, places), step))
    return w.cast(w.select(w.binary("lt", places, steps // 2), up, down), out.dtype)


@row("aten.eye.default", "aten.eye.m")
def eye(w, out, n, m=None, dtype=None):
    return w.cast(w.binary("eq", w.iota(out.shape, 0), w.iota(out.shape, 1)), out.dtype)


def _triangle(w, x: Value, diagonal, comparison: str) -> Value:
    rank = x.rank
    ahead = w.sub(w.iota(x.shape, rank - 1), w.iota(x.shape, rank - 2))
    return w.select(w.binary(comparison, ahead, diagonal), x, False if x.dtype == "bool" else 0)


@row("aten.tril.default")
def tril(w, out, self, diagonal=0):
    return _triangle(w, self, diagonal, "le")


@row("aten.triu.default")
def triu(w, out, self, diagonal=0):
    return _triangle(w, self, diagonal, "ge")


@row("aten.diagonal.default")
def diagonal(w, out, self, offset=0, dim1=0, dim2=1):
    a, b = dim1 % self.rank, dim2 % self.rank
    if offset != 0:
        refuse("a diagonal beside the main one")
    if self.shape[a] != self.shape[b]:
        refuse("the diagonal of a matrix that is not square")
    order = [i for i in range(self.rank) if i not in (a, b)]
    x = w.transpose(self, order + [a, b])
    n = x.rank
    on = w.binary("eq", w.iota(x.shape, n - 2), w.iota(x.shape, n - 1))
    return w.sum(w.select(on, x, 0), [n - 1])
