"""Tensors that are made of nothing but their shape."""

from __future__ import annotations

from dataclasses import replace

from ...builder import Value
from ...builder.sizes import product
from ..registry import refuse, row


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
    value = w.operand(s, out.dtype, ())
    return replace(value, size=s) if out.dtype == "i32" else value


@row("aten.arange.start_step", "aten.arange.start", "aten.arange.default")
def arange(w, out, end, start=0, step=1, dtype=None):
    if out.dtype == "i32" and isinstance(step, int):
        return w.iota(out.shape, 0, step, start)
    places = w.cast(w.iota(out.shape, 0), "f32")
    return w.cast(w.add(w.mul(places, step), w.operand(start, "f32", out.shape)), out.dtype)


@row("aten.linspace.default")
def linspace(w, out, start, end, steps, dtype=None):
    """From both ends, as PyTorch computes it, so that the last element is the end."""
    places = w.cast(w.iota(out.shape, 0), "f32")
    if steps == 1:
        return w.constant(start, out.dtype, out.shape)
    step = (end - start) / (steps - 1)
    up = w.add(w.mul(places, step), start)
    down = w.point("sub", end, w.mul(w.point("sub", steps - 1, places), step))
    return w.cast(w.select(w.point("lt", places, steps // 2), up, down), out.dtype)


@row("aten.eye.default", "aten.eye.m")
def eye(w, out, n, m=None, dtype=None):
    return w.cast(w.point("eq", w.iota(out.shape, 0), w.iota(out.shape, 1)), out.dtype)


def _triangle(w, x: Value, diagonal, comparison: str) -> Value:
    rank = x.rank
    ahead = w.sub(w.iota(x.shape, rank - 1), w.iota(x.shape, rank - 2))
    return w.select(w.point(comparison, ahead, diagonal), x, False if x.dtype == "bool" else 0)


@row("aten.tril.default")
def tril(w, out, self, diagonal=0):
    return _triangle(w, self, diagonal, "le")


@row("aten.triu.default")
def triu(w, out, self, diagonal=0):
    return _triangle(w, self, diagonal, "ge")


@row("aten.diagonal.default", "aten.diagonal_copy.default")
def diagonal(w, out, self, offset=0, dim1=0, dim2=1):
    """Takes every (columns + 1)-th element of a matrix whose rows follow each other."""
    x = _matrices(w, self, dim1, dim2)
    *front, rows, columns = x.shape
    if not isinstance(columns, int):
        return _diagonal_by_choice(w, out, x, offset)
    begin = offset if offset >= 0 else -offset * columns
    flat = w.reshape(x, (*front, product((rows, columns))))
    if out.shape[-1] == 1:
        return w.slice(flat, len(front), begin, 1)
    return w.slice(flat, len(front), begin, out.shape[-1], columns + 1)


def _matrices(w, x: Value, dim1: int, dim2: int) -> Value:
    """The tensor with the two dims last."""
    a, b = dim1 % x.rank, dim2 % x.rank
    return w.transpose(x, [i for i in range(x.rank) if i not in (a, b)] + [a, b])


def on_diagonal(w, shape, offset: int) -> Value:
    """Whether an element is on the diagonal of the last two dims."""
    rows, columns = w.iota(shape, len(shape) - 2), w.iota(shape, len(shape) - 1)
    return w.point("eq", w.add(rows, offset) if offset else rows, columns)


def _diagonal_by_choice(w, out, x: Value, offset: int) -> Value:
    """The sum of each row of which all but the diagonal is 0."""
    if offset != 0:
        refuse("a diagonal next to the main one, of a matrix whose number of columns changes")
    on = on_diagonal(w, x.shape, offset)
    rows = w.sum(w.select(on, x, 0), [x.rank - 1])
    return w.slice(rows, rows.rank - 1, 0, out.shape[-1])


@row("aten.diagonal_scatter.default")
def diagonal_scatter(w, out, self, src, offset=0, dim1=0, dim2=1):
    """Row i has element i of src, or element i + offset where the diagonal begins below the first row."""
    x = _matrices(w, self, dim1, dim2)
    values = spread_diagonal(w, w.cast(src, self.dtype), x.shape, offset)
    result = w.select(on_diagonal(w, x.shape, offset), values, x)
    a, b = dim1 % x.rank, dim2 % x.rank
    order = [i for i in range(x.rank) if i not in (a, b)] + [a, b]
    return w.transpose(result, [order.index(i) for i in range(x.rank)])


def spread_diagonal(w, diagonal: Value, shape, offset: int) -> Value:
    """A matrix that has the elements on its diagonal, and others elsewhere."""
    n = len(shape)
    rows_lead = offset >= 0
    axis = n - 2 if rows_lead else n - 1
    rest = shape[axis] - diagonal.shape[-1]
    line = w.pad(diagonal, n - 2, 0, rest, 0)
    return w.broadcast(line, [*range(n - 2), axis], shape)


@row("aten.diag_embed.default")
def diag_embed(w, out, self, offset=0, dim1=-2, dim2=-1):
    """A matrix of zeros but for its diagonal."""
    n = self.rank + 1
    a, b = dim1 % n, dim2 % n
    order = [i for i in range(n) if i not in (a, b)] + [a, b]
    shape = tuple(out.shape[i] for i in order)
    on = on_diagonal(w, shape, offset)
    result = w.select(on, spread_diagonal(w, self, shape, offset), False if self.dtype == "bool" else 0)
    return w.transpose(result, [order.index(i) for i in range(n)])
