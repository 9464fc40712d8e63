"""Rows and elements that indices pick."""

from __future__ import annotations

from typing import Optional

from ...builder import Value
from ...builder.sizes import Shape, broadcast_shapes, product
from ..registry import refuse, row
from .shape import axis_of, with_a_dim


@row("aten.embedding.default")
def embedding(w, out, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """The row of the padding has no gradient."""
    if scale_grad_by_freq:
        refuse("gradients scaled by the frequency of ids")
    ids = w.places(indices)
    rows = w.gather(weight, ids, 0)
    if padding_idx < 0 or not rows.grad:
        return rows
    is_padding = w.broadcast(w.point("eq", ids, padding_idx), range(ids.rank), rows.shape)
    return w.select(is_padding, w.stop(rows), rows)


@row("aten.index_select.default")
@with_a_dim
def index_select(w, out, self, dim, index):
    axis = axis_of(self.rank, dim)
    return w.reshape(w.gather(self, w.places(index), axis), out.shape)


@row("aten.gather.default")
@with_a_dim
def gather_row(w, out, self, dim, index, sparse_grad=False):
    return gather(w, out, self, dim, index)


def gather(w, out, self, dim, index):
    axis = axis_of(self.rank, dim)
    if self.splat is not None:
        return w.constant(self.splat, self.dtype, out.shape)
    return pick(w, self, element_places(w, self.shape, axis, w.places(index)))


@row("aten.take_along_dim.default")
def take_along_dim(w, out, self, indices, dim=None):
    if dim is None:
        return w.reshape(pick(w, self, w.from_front(w.places(indices), product(self.shape))), out.shape)
    axis = axis_of(self.rank, dim)
    whole = list(broadcast_shapes(self.shape[:axis] + (1,) + self.shape[axis + 1 :], indices.shape))
    table = whole.copy()
    table[axis] = self.shape[axis]
    indices = w.from_front(w.places(indices), self.shape[axis])
    return gather(w, out, w.spread(self, tuple(table)), axis, w.spread(indices, tuple(whole)))


def element_places(w, shape: Shape, axis: int, indices: Value) -> Value:
    """Where, among all elements of `shape` in order, the one is whose place along the axis an index says and whose
    other places are the index's own. An index outside of the axis is an error."""
    places = [w.inside(indices, shape[axis]) if i == axis else w.iota(indices.shape, i) for i in range(len(shape))]
    return flat_places(w, places, shape)


def flat_places(w, places: list[Value], sizes: Shape) -> Value:
    """The place in row-major order. Requires: each place is inside its size, else it is another element's."""
    total = None
    for i, place in enumerate(places):
        stride = product(sizes[i + 1 :])
        part = place if stride == 1 else w.mul(place, w.operand(stride, "i32", place.shape))
        total = part if total is None else w.add(total, part)
    return total


def pick(w, x: Value, places: Value) -> Value:
    """Elements at places in row-major order."""
    return w.gather(w.reshape(x, (product(x.shape),)), places, 0)


# ---- x[a, :, b]


@row("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(w, out, self, indices):
    axes = [i for i, x in enumerate(indices) if x is not None]
    chosen = [indices[i] for i in axes]
    if any(x.dtype == "bool" for x in chosen):
        refuse("a mask as an index: how many elements it picks depends on the data")
    if not axes:
        return self
    spread = spread_of(w, out, self, axes, chosen)
    return spread if spread is not None else picked(w, self, axes, chosen)


def spread_of(w, out, x: Value, axes: list[int], chosen: list[Value]) -> Optional[Value]:
    """Where every index is 0, 1, 2, ... along a dim of its own, what is picked is the tensor itself, spread."""
    if len(axes) != x.rank:
        return None
    rank, positions = len(out.shape), []
    for axis, places in zip(axes, chosen):
        if places.place is None or places.place[1] != 1 or places.place[2] != 0:
            return None
        position = places.place[0] + rank - places.rank
        if out.shape[position] != x.shape[axis] and x.shape[axis] != 1:
            return None
        positions.append(position)
    if len(set(positions)) != len(positions):
        return None
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    return w.broadcast(w.transpose(x, order), [positions[i] for i in order], out.shape)


def picked(w, x: Value, axes: list[int], chosen: list[Value]) -> Value:
    """The dims that are indexed come first, as one; what is picked goes where PyTorch has it."""
    chosen = [w.from_front(w.places(i), x.shape[a]) for i, a in zip(chosen, axes)]
    if len(axes) == 1:
        return w.gather(x, chosen[0], axes[0])
    shape = broadcast_shapes(*(i.shape for i in chosen))
    sizes = tuple(x.shape[a] for a in axes)
    chosen = [w.inside(i, size) for i, size in zip(chosen, sizes)]
    places = flat_places(w, [w.spread(i, shape) for i in chosen], sizes)
    if axes == list(range(axes[0], axes[0] + len(axes))):
        first, last = axes[0], axes[-1] + 1
        table = w.reshape(x, x.shape[:first] + (product(sizes),) + x.shape[last:])
        return w.gather(table, places, first)
    rest = [i for i in range(x.rank) if i not in axes]
    table = w.transpose(x, axes + rest)
    return w.gather(w.reshape(table, (product(sizes),) + table.shape[len(axes) :]), places, 0)


# ---- by strides


@row("aten.as_strided.default", "aten.as_strided_copy.default")
def as_strided(w, out, self, size, stride, storage_offset=None):
    """Of a dense tensor: element i of the result is where the strides say."""
    dense = tuple(product(out.shape[i + 1 :]) for i in range(len(out.shape)))
    if tuple(stride) == dense and (storage_offset or 0) == 0:
        flat = w.reshape(self, (product(self.shape),))
        return w.reshape(w.slice(flat, 0, 0, product(out.shape)), out.shape)
    return pick(w, self, strided_places(w, out.shape, stride, storage_offset))


def strided_places(w, shape: Shape, stride, storage_offset) -> Value:
    """Where the strides say that each element is."""
    places = w.operand(storage_offset or 0, "i32", shape)
    for i, step in enumerate(stride):
        if step != 0 and shape[i] != 1:
            places = w.add(places, w.mul(w.iota(shape, i), w.operand(step, "i32", shape)))
    return places


@row("aten.unfold.default", "aten.unfold_copy.default")
def unfold(w, out, self, dimension, size, step):
    """Windows along a dim; the place in a window is the last dim."""
    if self.rank == 0:
        return w.reshape(self, out.shape)
    axis = axis_of(self.rank, dimension)
    windows = w.windows(self, axis, out.shape[axis], size, step)
    order = [i for i in range(windows.rank) if i != axis + 1] + [axis + 1]
    return w.transpose(windows, order)
