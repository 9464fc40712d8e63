"""Writing at places: sums, overwriting, and parts that are replaced."""

from __future__ import annotations

import math

from ...builder import Value
from ...builder.sizes import broadcast_shapes, product
from ...ranges import INTEGERS, fits, hull, result_of, sum_of
from ..registry import refuse, row
from .indexing import element_places, flat_places, pick, strided_places
from .scan import product_along, running_sum
from .shape import axis_of, begin_and_end, with_a_dim


def summable(w, x: Value, updates: Value) -> list[Value]:
    """Both in a type that holds x and the sum of all updates, where integers have no other width."""
    if x.dtype not in INTEGERS:
        return [x, updates]
    added = sum_of(updates.numbers, w.ranges.most(product(updates.shape)))
    if w.is_64_bits and (added is None or not fits(result_of("add", [x.numbers, added]), "i32")):
        return [w.widened(x), w.widened(updates)]
    return w.alike([x, updates])


def add_at(w, x: Value, places: Value, updates: Value) -> Value:
    """x, flat, plus the updates at places in row-major order."""
    count = product(x.shape)
    x, updates = summable(w, x, updates)
    flat = w.reshape(x, (count,))
    places = w.reshape(places, (product(places.shape),))
    updates = w.reshape(updates, (product(updates.shape),))
    result = w.node("scatter_add", [flat, places, updates], axis=0)
    result.grad = x.dtype == "f32" and (x.grad or updates.grad)
    return w.reshape(result, x.shape)


def put_at(w, x: Value, places: Value, updates: Value, unique: bool = False) -> Value:
    """x, but the updates at places in row-major order; a place that is written twice has the last one. `unique` says
    that there is none."""
    count = product(x.shape)
    x, updates = w.alike([x, updates])
    operands = [w.reshape(v, (product(v.shape),)) for v in (places, updates)]
    result = w.node("scatter", [w.reshape(x, (count,)), *operands], axis=0, unique=unique)
    if x.dtype in INTEGERS:
        result.low, result.high = hull(x.numbers, updates.numbers)
    return w.reshape(result, x.shape)


# ---- along one dim


def _cut(w, x: Value, shape) -> Value:
    """PyTorch takes only as much of the source as there are indices."""
    for axis, size in enumerate(shape):
        x = w.slice(x, axis, 0, size)
    return x


@row("aten.scatter_add.default")
@with_a_dim
def scatter_add(w, out, self, dim, index, src):
    places = element_places(w, self.shape, axis_of(self.rank, dim), w.places(index))
    return add_at(w, self, places, _cut(w, w.cast(src, self.dtype), index.shape))


@row("aten.scatter.src", "aten.scatter.value")
@with_a_dim
def scatter(w, out, self, dim, index, src=None, value=None):
    axis = axis_of(self.rank, dim)
    index = w.places(index)
    if value is not None and index.shape[axis] == 1 and _rest_is_whole(self, index, axis):
        here = w.spread(w.inside(index, self.shape[axis]), self.shape)
        return w.select(w.point("eq", w.iota(self.shape, axis), here), w.operand(value, self.dtype, self.shape), self)
    updates = w.constant(value, self.dtype, index.shape) if src is None else _cut(w, src, index.shape)
    return put_at(w, self, element_places(w, self.shape, axis, index), w.cast(updates, self.dtype))


def _rest_is_whole(x: Value, index: Value, axis: int) -> bool:
    return all(a == b for i, (a, b) in enumerate(zip(x.shape, index.shape)) if i != axis)


@row("aten.index_add.default")
@with_a_dim
def index_add(w, out, self, dim, index, source, alpha=1):
    axis = axis_of(self.rank, dim)
    source = w.mul(source, alpha) if alpha != 1 else source
    x, source = summable(w, self, source)
    result = w.node("scatter_add", [x, w.places(index), source], axis=axis)
    result.grad = self.grad or source.grad
    return result


# ---- x[a, :, b] = values


@row("aten.index_put.default", "aten._unsafe_index_put.default")
def index_put(w, out, self, indices, values, accumulate=False):
    axes = [i for i, x in enumerate(indices) if x is not None]
    chosen = [indices[i] for i in axes]
    if any(x.dtype == "bool" for x in chosen):
        return _put_where(w, self, axes, chosen, values, accumulate)
    places, shape = _element_places(w, self, axes, chosen)
    updates = w.spread(w.cast(values, self.dtype), shape)
    return add_at(w, self, places, updates) if accumulate else put_at(w, self, places, updates)


def _put_where(w, x: Value, axes, chosen, values: Value, accumulate: bool) -> Value:
    if len(chosen) != 1:
        refuse("a mask beside another index: how many elements it picks depends on the data")
    mask, axis = chosen[0], axes[0]
    flat, row = w.reshape(mask, (product(mask.shape),)), values.rank - (x.rank - axis - mask.rank) - 1
    if row >= 0 and values.shape[row] != 1:
        values = rows_in_order(w, values, row, flat, w.size(values.shape[row]))
    return put_where(w, x, flat, axis, mask.rank, values, accumulate)


def put_where(w, x: Value, flat: Value, axis: int, rank: int, values: Value, accumulate: bool) -> Value:
    """x with the values where a mask over `rank` dims from the axis on is true. `flat`: the mask in one dim, as the
    values have it; or they are the same for all its places."""
    front, own, back = x.shape[:axis], x.shape[axis : axis + rank], x.shape[axis + rank :]
    values = w.reshape(w.spread(w.cast(values, x.dtype), (*front, product(own), *back)), x.shape)
    mask = w.broadcast(w.reshape(flat, own), range(axis, axis + rank), x.shape)
    return w.select(mask, w.add(x, values) if accumulate else values, x)


def rows_in_order(w, values: Value, axis: int, mask: Value, count: Value) -> Value:
    """The first row at the first place of the mask, and so on; other places have any of them. Another number of places
    than of rows, `count`, is an error."""
    ascending = w.scan(w.cast(mask, "i32"), 0)
    is_right = w.point("eq", w.sum(w.cast(mask, "i32"), [0]), w.places(count))
    beyond = w.spread(w.select(is_right, w.constant(0, "i32"), w.size(values.shape[axis])), mask.shape)
    places = w.add(w.select(mask, w.sub(ascending, 1), 0), beyond)
    return w.gather(values, w.inside(places, values.shape[axis]), axis)


def _element_places(w, x: Value, axes, chosen):
    """The places of all elements that are written, and the shape that the values spread to."""
    shape = broadcast_shapes(*(i.shape for i in chosen))
    rest = [i for i in range(x.rank) if i not in axes]
    if axes != list(range(axes[0], axes[0] + len(axes))) and rest:
        before = 0
    else:
        before = axes[0]
    front = tuple(x.shape[i] for i in rest[:before])
    back = tuple(x.shape[i] for i in rest[before:])
    whole = front + shape + back
    places = {}
    for axis, picked in zip(axes, chosen):
        picked = w.from_front(w.places(picked), x.shape[axis])
        picked = w.spread(w.inside(picked, x.shape[axis]), shape)
        places[axis] = w.broadcast(picked, range(len(front), len(front) + len(shape)), whole)
    for i, axis in enumerate(rest):
        places[axis] = w.iota(whole, i if i < before else i + len(shape))
    return flat_places(w, [places[i] for i in range(x.rank)], x.shape), whole


# ---- parts


@row("aten.slice_scatter.default")
def slice_scatter(w, out, self, src, dim=0, start=None, end=None, step=1):
    axis = axis_of(self.rank, dim)
    size = self.shape[axis]
    begin, _ = begin_and_end(w, size, start, end)
    src = w.cast(src, self.dtype)
    if step != 1:
        places = w.iota(src.shape, axis, step, begin)
        return put_at(w, self, element_places(w, self.shape, axis, places), src, unique=True)
    behind = begin + src.shape[axis]
    rest = size - behind
    return w.concat([w.slice(self, axis, 0, begin), src, w.slice(self, axis, behind, rest)], axis)


@row("aten.select_scatter.default")
def select_scatter(w, out, self, src, dim, index):
    axis = axis_of(self.rank, dim)
    src = w.reshape(src, self.shape[:axis] + (1,) + self.shape[axis + 1 :])
    last = isinstance(index, int) and index == -1
    end = None if last else index + 1
    return slice_scatter(w, out, self, src, axis, index, end)


@row("aten.as_strided_scatter.default")
def as_strided_scatter(w, out, self, src, size, stride, storage_offset=None):
    """A place that several elements of src have keeps the last one."""
    if self.grad or src.grad:
        refuse("the derivative of as_strided_scatter, which in PyTorch is not that of what it computes")
    places = strided_places(w, src.shape, stride, storage_offset)
    return put_at(w, self, places, w.cast(src, self.dtype))


@row("aten.masked_scatter.default")
def masked_scatter(w, out, self, mask, source):
    """The elements of source in order, at the places of the mask in order. More places than elements are an error."""
    x, mask = w.spread(self, out.shape), w.spread(mask, out.shape)
    count = product(out.shape)
    before = running_sum(w, w.cast(w.reshape(mask, (count,)), "i32"), 0)
    places = w.select(mask, w.reshape(w.sub(before, 1), out.shape), 0)
    return w.select(mask, pick(w, w.cast(source, x.dtype), places), x)


# ---- rows along a dim


@row("aten.index_copy.default")
@with_a_dim
def index_copy(w, out, self, dim, index, source):
    axis = axis_of(self.rank, dim)
    places = _rows_at(w, self, axis, index, source.shape)
    return put_at(w, self, places, source)


def _rows_at(w, x: Value, axis: int, index: Value, shape):
    """The places of all elements of the rows that an index picks."""
    index = w.reshape(w.places(index), (product(index.shape),))
    return element_places(w, x.shape, axis, w.broadcast(w.inside(index, x.shape[axis]), [axis], shape))


@row("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
@with_a_dim
def index_fill(w, out, self, dim, index, value):
    """A row is filled where any of the indices is its own."""
    axis = axis_of(self.rank, dim)
    index = w.inside(w.from_front(w.places(index), self.shape[axis]), self.shape[axis])
    shape = (self.shape[axis], product(index.shape))
    hit = w.point("eq", w.iota(shape, 0), w.broadcast(w.reshape(index, shape[1:]), [1], shape))
    hit = w.cast(w.reduce("max", w.cast(hit, "i32"), [1]), "bool")
    number = w.reshape(w.cast(value, self.dtype), ()) if isinstance(value, Value) else value
    filled = w.operand(number, self.dtype, self.shape)
    return w.select(w.broadcast(hit, [axis], self.shape), filled, self)


@row("aten.take.default")
def take(w, out, self, index):
    places = w.from_front(w.places(index), product(self.shape))
    return w.reshape(pick(w, self, places), out.shape)


@row("aten.put.default")
def put(w, out, self, index, source, accumulate=False):
    places = w.from_front(w.places(index), product(self.shape))
    write = add_at if accumulate else put_at
    return write(w, self, places, w.reshape(w.cast(source, self.dtype), places.shape))


# ---- reductions at places


@row("aten.scatter_reduce.two")
@with_a_dim
def scatter_reduce(w, out, self, dim, index, src, reduce, include_self=True):
    """Reduces the elements at each place, with the tensor's own where include_self says so."""
    axis = axis_of(self.rank, dim)
    places = element_places(w, self.shape, axis, w.places(index))
    return _reduced_at(w, self, places, _cut(w, w.cast(src, self.dtype), index.shape), reduce, include_self)


@row("aten.scatter.reduce", "aten.scatter.value_reduce")
@with_a_dim
def scatter_combine(w, out, self, dim, index, reduce, src=None, value=None):
    kind = {"add": "sum", "multiply": "prod"}[reduce]
    source = w.constant(value, self.dtype, index.shape) if src is None else src
    return scatter_reduce(w, out, self, dim=dim, index=index, src=source, reduce=kind)


@row("aten.index_reduce.default")
@with_a_dim
def index_reduce(w, out, self, dim, index, source, reduce, include_self=True):
    places = _rows_at(w, self, axis_of(self.rank, dim), index, source.shape)
    return _reduced_at(w, self, places, w.cast(source, self.dtype), reduce, include_self)


def _reduced_at(w, x: Value, places: Value, updates: Value, kind: str, include_self: bool) -> Value:
    """Sums and means by scatter_add; products and extremes by a table of places and updates."""
    counts = add_at(w, w.constant(0, "i32", x.shape), places, w.constant(1, "i32", updates.shape))
    written = w.point("gt", counts, 0)
    if kind in ("sum", "mean"):
        base = x if include_self else w.select(written, 0, x)
        total = add_at(w, base, places, updates)
        if kind == "sum":
            return total
        number = w.point("max", w.add(counts, 1) if include_self else counts, 1)
        if x.dtype == "i32":
            return w.floor_div(total, number)
        return w.div(total, w.cast(number, x.dtype))
    combined = _by_table(w, x, places, updates, {"amax": "max", "amin": "min", "prod": "prod"}[kind], include_self)
    return w.select(written, combined, x)


def _by_table(w, x: Value, places: Value, updates: Value, kind: str, include_self: bool) -> Value:
    """Reduces a row for each place: the updates that are written there, and numbers that change nothing."""
    shape = (product(x.shape), product(updates.shape))
    hit = w.point("eq", w.iota(shape, 0), w.broadcast(w.reshape(places, shape[1:]), [1], shape))
    values = w.broadcast(w.reshape(updates, shape[1:]), [1], shape)
    neutral = _NEUTRAL[kind, x.dtype]
    table = w.select(hit, values, neutral)
    if include_self:
        table = w.concat([table, w.reshape(x, (shape[0], 1))], 1)
    if kind == "prod":
        return w.reshape(product_along(w, table, 1), x.shape)
    if x.grad or updates.grad:
        return w.reshape(shared_extreme(w, table, 1, kind), x.shape)
    return w.reshape(w.reduce(kind, table, [1]), x.shape)


_NEUTRAL = {
    ("max", "f32"): -math.inf,
    ("min", "f32"): math.inf,
    ("prod", "f32"): 1.0,
    ("max", "i32"): -(2**31),
    ("min", "i32"): 2**31 - 1,
    ("prod", "i32"): 1,
}


def shared_extreme(w, x: Value, axis: int, kind: str) -> Value:
    """An extreme whose gradient is shared by all elements that are equal to it."""
    best = w.reduce(kind, w.stop(x), [axis])
    spread = w.along(best, [axis], x.shape)
    hit = w.point("eq", w.stop(x), spread)
    count = w.sum(w.cast(hit, "f32"), [axis])
    total = w.sum(w.select(hit, x, 0.0), [axis])
    return w.select(w.point("lt", w.point("abs", best), math.inf), w.div(total, w.point("max", count, 1.0)), best)
