"""Operations that move elements and compute none."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Callable

from ...builder import Value
from ...builder.sizes import Size, floor_div, product
from ..registry import row

END = 2**62
"""PyTorch writes the end of a dim as a number from here on."""


def axis_of(rank: int, dim: int) -> int:
    return dim % max(rank, 1)


def axes_of(rank: int, dims) -> list[int]:
    """None and an empty list are all of them; a single number has none."""
    if rank == 0:
        return []
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return list(range(rank))
    return sorted({axis_of(rank, d) for d in ([dims] if isinstance(dims, int) else dims)})


def with_a_dim(function: Callable) -> Callable:
    """A row that takes a single number for a vector of one element, as PyTorch does where a dim is given."""

    def vector(w, x):
        return w.reshape(x, (1,)) if isinstance(x, Value) and x.rank == 0 else x

    def to_one(out):
        return tuple(map(to_one, out)) if isinstance(out, tuple) else replace(out, shape=(1,))

    @functools.wraps(function)
    def wrapped(w, out, self, **arguments):
        if self.rank > 0:
            return function(w, out, self, **arguments)
        arguments = {name: vector(w, x) for name, x in arguments.items()}
        found = function(w, to_one(out), vector(w, self), **arguments)
        return tuple(w.reshape(x, ()) for x in found) if isinstance(found, tuple) else w.reshape(found, ())

    return wrapped


@row("aten.view.default", "aten._unsafe_view.default", "aten.reshape.default", "aten.view_copy.default")
def view(w, out, self, size=None, shape=None):
    return w.reshape(self, out.shape)


@row("aten._reshape_copy.default")
def reshape_copy(w, out, self, size):
    return w.reshape(self, out.shape)


@row(
    "aten.unsqueeze.default",
    "aten.unsqueeze_copy.default",
    "aten.squeeze.default",
    "aten.squeeze.dim",
    "aten.squeeze.dims",
    "aten.squeeze_copy.default",
    "aten.squeeze_copy.dim",
    "aten.squeeze_copy.dims",
)
def unit_dims(w, out, self, dim=None):
    return w.reshape(self, out.shape)


@row("aten.flatten.using_ints")
def flatten(w, out, self, start_dim=0, end_dim=-1):
    return w.reshape(self, out.shape)


@row("aten.unflatten.int")
def unflatten(w, out, self, dim, sizes):
    return w.reshape(self, out.shape)


@row("aten.permute.default", "aten.permute_copy.default")
def permute(w, out, self, dims):
    return w.transpose(self, [axis_of(self.rank, d) for d in dims])


@row("aten.transpose.int", "aten.transpose_copy.int")
def transpose(w, out, self, dim0, dim1):
    if self.rank == 0:
        return self
    permutation = list(range(self.rank))
    a, b = axis_of(self.rank, dim0), axis_of(self.rank, dim1)
    permutation[a], permutation[b] = b, a
    return w.transpose(self, permutation)


@row("aten.t.default", "aten.t_copy.default", "aten.numpy_T.default", "aten.mT.default")
def matrix_transpose(w, out, self):
    if self.rank < 2:
        return self
    return transpose(w, out, self, -2, -1)


@row("aten.movedim.int")
def movedim(w, out, self, source, destination):
    order = [i for i in range(self.rank) if i != axis_of(self.rank, source)]
    order.insert(axis_of(self.rank, destination), axis_of(self.rank, source))
    return w.transpose(self, order)


@row("aten.expand.default", "aten.expand_copy.default")
def expand(w, out, self, size, implicit=False):
    return w.spread(self, out.shape)


@row("aten.expand_as.default", "aten.broadcast_to.default")
def expand_as(w, out, self, other=None, size=None):
    return w.spread(self, out.shape)


@row("aten.repeat.default", "aten.tile.default")
def repeat(w, out, self, repeats=None, dims=None):
    """A dim is repeated as a whole: in front of it stands one that is spread."""
    repeats = list(repeats if repeats is not None else dims)
    repeats = [1] * (len(out.shape) - len(repeats)) + repeats
    x = w.reshape(self, (1,) * (len(repeats) - self.rank) + self.shape)
    between = tuple(size for i, n in enumerate(repeats) for size in (n, x.shape[i]))
    axes = [2 * i + 1 for i in range(len(repeats))]
    return w.reshape(w.broadcast(x, axes, between), out.shape)


@row("aten.repeat_interleave.self_int")
def repeat_interleave(w, out, self, repeats, dim=None, output_size=None):
    if dim is None:
        self, dim = w.reshape(self, (product(self.shape),)), 0
    axis = axis_of(self.rank, dim)
    between = self.shape[: axis + 1] + (repeats,) + self.shape[axis + 1 :]
    axes = [i for i in range(self.rank + 1) if i != axis + 1]
    return w.reshape(w.broadcast(self, axes, between), out.shape)


# ---- parts


def begin_and_end(w, size: Size, start, end) -> tuple[Size, Size]:
    """As Python's slices have them: below 0 they count from the end, beyond it they are the end."""
    start = 0 if start is None else start
    end = size if end is None or (isinstance(end, int) and end >= END) else end
    return _clipped(w, size, start), _clipped(w, size, end)


def _clipped(w, size: Size, place) -> Size:
    if w.ranges.is_natural(-1 - place):
        place = size + place
    if isinstance(size, int) and isinstance(place, int):
        return min(max(place, 0), size)
    if w.ranges.is_natural(place - size):
        return size
    return place


@row("aten.slice.Tensor", "aten.slice_copy.Tensor")
def slice_tensor(w, out, self, dim=0, start=None, end=None, step=1):
    axis = axis_of(self.rank, dim)
    size = self.shape[axis]
    begin, _ = begin_and_end(w, size, start, end)
    length = out.shape[axis]
    return w.slice(self, axis, begin, length, step)


@row("aten.select.int", "aten.select_copy.int")
def select(w, out, self, dim, index):
    axis = axis_of(self.rank, dim)
    begin = _clipped(w, self.shape[axis], index)
    return w.reshape(w.slice(self, axis, begin, 1), out.shape)


@row("aten.narrow.default", "aten.narrow_copy.default")
def narrow(w, out, self, dim, start, length):
    axis = axis_of(self.rank, dim)
    return w.slice(self, axis, _clipped(w, self.shape[axis], start), length)


def _parts(w, x: Value, axis: int, lengths) -> tuple[Value, ...]:
    parts, begin = [], 0
    for length in lengths:
        parts.append(w.slice(x, axis, begin, length))
        begin = begin + length
    return tuple(parts)


@row(
    "aten.split.Tensor",
    "aten.split.sizes",
    "aten.split_with_sizes.default",
    "aten.split_with_sizes_copy.default",
    "aten.chunk.default",
    "aten.tensor_split.sections",
    "aten.unsafe_split.Tensor",
    "aten.unsafe_chunk.default",
)
def split(w, out, self, dim=0, **_):
    axis = axis_of(self.rank, dim)
    return _parts(w, self, axis, [part.shape[axis] for part in out])


@row("aten.unbind.int", "aten.unbind_copy.int")
def unbind(w, out, self, dim=0):
    axis = axis_of(self.rank, dim)
    return tuple(w.reshape(w.slice(self, axis, i, 1), part.shape) for i, part in enumerate(out))


@row("aten.cat.default", "aten.concat.default")
def cat(w, out, tensors, dim=0):
    axis = axis_of(len(out.shape), dim)
    parts = [w.cast(x, out.dtype) for x in tensors if x.rank == len(out.shape)]  # an empty one may have another rank
    return w.concat(parts, axis)


@row("aten.stack.default")
def stack(w, out, tensors, dim=0):
    axis = axis_of(len(out.shape), dim)
    shape = out.shape[:axis] + (1,) + out.shape[axis + 1 :]
    return w.concat([w.reshape(w.cast(x, out.dtype), shape) for x in tensors], axis)


@row("aten.constant_pad_nd.default")
def constant_pad(w, out, self, pad, value=0):
    x = w.cast(self, out.dtype)
    for i in range(len(pad) // 2):
        x = w.pad(x, self.rank - 1 - i, pad[2 * i], pad[2 * i + 1], value)
    return x


@row("aten.pad.default")
def pad(w, out, self, pad, mode="constant", value=None):
    if mode == "constant":
        return constant_pad(w, out, self, pad, 0 if value is None else value)
    for i in range(len(pad) // 2):
        self = padded_by_itself(w, self, self.rank - 1 - i, pad[2 * i], pad[2 * i + 1], mode)
    return self


for _mode, _word in (("reflect", "reflection"), ("replicate", "replication")):
    row(*(f"aten.{_word}_pad{n}d.default" for n in (1, 2, 3)))(
        lambda w, out, self, padding, _mode=_mode: pad(w, out, self, padding, _mode)
    )


def padded_by_itself(w, x: Value, axis: int, before: Size, after: Size, mode: str) -> Value:
    """Sides that are made of the tensor's own elements; below 0 a side is cut afterwards, or before it goes around."""
    cut = [side if isinstance(side, int) and side < 0 else 0 for side in (before, after)]
    if any(cut) and mode == "circular":
        x, cut = w.pad(x, axis, *cut), [0, 0]
    before, after = (0 if isinstance(side, int) and side < 0 else side for side in (before, after))
    size = x.shape[axis]

    def part(begin: Size, length: Size) -> Value:
        return w.slice(x, axis, begin, length)

    def repeated(one: Value, length: Size) -> Value:
        return w.spread(one, x.shape[:axis] + (length,) + x.shape[axis + 1 :])

    if mode == "replicate":
        sides = repeated(part(0, 1), before), repeated(part(size - 1, 1), after)
    elif mode == "reflect":
        sides = (flip(w, None, part(1, before), [axis]), flip(w, None, part(size - 1 - after, after), [axis]))
    else:
        sides = part(size - before, before), part(0, after)
    return w.pad(w.concat([sides[0], x, sides[1]], axis), axis, *cut, 0)


@row("aten.flip.default")
def flip(w, out, self, dims):
    for axis in (axis_of(self.rank, dim) for dim in dims if self.rank):
        self = w.reverse(self, axis)
    return self


@row("aten.roll.default")
def roll(w, out, self, shifts, dims=None):
    if not dims:
        flat = w.reshape(self, (product(self.shape),))
        return w.reshape(roll(w, out, flat, shifts, [0]), self.shape)
    for shift, dim in zip(shifts, dims):
        axis = axis_of(self.rank, dim)
        size = self.shape[axis]
        if isinstance(size, int) and isinstance(shift, int):
            shift %= size
        begin = size - shift if not (isinstance(shift, int) and shift < 0) else -shift
        rest = size - begin
        if rest == 0:
            continue
        self = w.concat([w.slice(self, axis, begin, rest), w.slice(self, axis, 0, begin)], axis)
    return self


@row("aten.trace.default")
def trace(w, out, self):
    """The sum of the diagonal, by choice: a matrix need not be square."""
    on = w.point("eq", w.iota(self.shape, 0), w.iota(self.shape, 1))
    return w.cast(w.sum(w.select(on, self, 0), [0, 1]), out.dtype)


@row("aten.pixel_shuffle.default")
def pixel_shuffle(w, out, self, upscale_factor):
    r, (*batch, c, h, width) = upscale_factor, self.shape
    n = len(batch)
    x = w.reshape(self, (*batch, floor_div(c, r * r), r, r, h, width))
    x = w.transpose(x, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return w.reshape(x, out.shape)
