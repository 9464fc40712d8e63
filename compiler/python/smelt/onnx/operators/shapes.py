"""Operators that move elements and compute none."""

from __future__ import annotations

import numpy

from ...builder.sizes import broadcast_shapes, is_known, product, quotient
from ..call import Known
from ..refusal import Refusal
from ..rows import Typed, row
from ..tensors import array_of
from ..types import ELEMENTS, INT64, element


def sizes_array(sizes) -> numpy.ndarray:
    whole = all(is_known(size) for size in sizes)
    array = numpy.empty(len(sizes), dtype=numpy.int64 if whole else object)
    array[:] = list(sizes)
    return array


@row("Shape")
def shape(n):
    sizes = n.shape(0)
    found = sizes[n.attribute("start", 0) : n.attribute("end", len(sizes))]
    return Known(sizes_array(found), INT64)


@row("Size")
def size(n):
    return Known(sizes_array([product(n.shape(0))]).reshape(()), INT64)


def reshaped(sizes, wanted, allow_zero):
    """0 keeps a size, and -1 is what is left."""
    shape = [sizes[i] if size == 0 and not allow_zero else size for i, size in enumerate(wanted)]
    if -1 in shape:
        rest = product(size for size in shape if not (is_known(size) and size == -1))
        left = quotient(product(sizes), rest)
        if left is None:
            raise Refusal(f"{product(sizes)} elements in rows of {rest}")
        shape[shape.index(-1)] = left
    return shape


@row("Reshape", exact=True)
def reshape(n, x):
    wanted = n.attribute("shape") if n.given("shape") else n.ints(1)
    return n.b.reshape(x, reshaped(x.shape, wanted, n.attribute("allowzero", 0)))


@row("Flatten", exact=True)
def flatten(n, x):
    axis = n.attribute("axis", 1)
    axis += len(x.shape) if axis < 0 else 0
    return n.b.reshape(x, (product(x.shape[:axis]), product(x.shape[axis:])))


@row("Transpose", exact=True)
def transpose(n, x):
    return n.b.transpose(x, n.attribute("perm", list(range(len(x.shape)))[::-1]))


@row("Unsqueeze", exact=True)
def unsqueeze(n, x):
    return n.b.unsqueeze(x, *n.axes())


@row("Squeeze", exact=True)
def squeeze(n, x):
    axes = n.axes()
    if axes is None:
        axes = [i for i, size in enumerate(x.shape) if is_known(size) and size == 1]
    return n.b.squeeze(x, *axes)


@row("Expand", exact=True)
def expand(n, x):
    return n.b.spread(x, broadcast_shapes(x.shape, tuple(n.ints(1))))


@row("Tile", exact=True)
def tile(n, x):
    b = n.b
    times = n.ints(1)
    split = [part for count, size in zip(times, x.shape) for part in (count, size)]
    wide = b.spread(b.reshape(x, [part for size in x.shape for part in (1, size)]), split)
    return b.reshape(wide, [count * size for count, size in zip(times, x.shape)])


@row("Concat", exact=True)
def concat(n, *xs):
    return n.b.concat(list(xs), n.attribute("axis"))


@row("Split", exact=True)
def split(n, x):
    axis = n.attribute("axis", 0) % len(x.shape)
    lengths = n.attribute("split") if n.given("split") else n.ints(1)
    if lengths is None:
        lengths = even_lengths(x.shape[axis], n.attribute("num_outputs") or len(n.node.output))
    parts, begin = [], 0
    for length in lengths:
        parts.append(n.b.slice(x, axis, begin, length))
        begin = begin + length
    return parts


def even_lengths(size, count):
    """Equal ones; the last one is shorter where they do not come out even."""
    whole = quotient(size, count)
    if whole is not None:
        return [whole] * count
    if not is_known(size):
        raise Refusal(f"{count} equal parts of {size}")
    length = -(-size // count)
    return [min(length, size - i * length) for i in range(count)]


def clamped(place, size, least, most):
    """A begin or an end as Slice takes it. A place of symbols is taken as inside."""
    if not is_known(place):
        return place
    if place < 0:
        place = place + size
    elif is_known(size) is False:
        return size if place > 2**30 else place
    return min(max(place, least), most) if is_known(place) and is_known(most) else (0 if place == 0 else place)


def slice_range(size, start, end, step):
    """begin and length."""
    if step > 0:
        begin, stop = clamped(start, size, 0, size), clamped(end, size, 0, size)
        length = stop - begin
    else:
        begin, stop = clamped(start, size, 0, size - 1), clamped(end, size, -1, size - 1)
        if is_known(end) and is_known(size) and end < -size:
            stop = -1
        length = begin - stop
    if abs(step) == 1:
        return begin, (max(length, 0) if is_known(length) else length)
    if not is_known(length):
        raise Refusal(f"every {step}-th of {length} elements")
    return begin, max(0, -(-length // abs(step)))


@row("Slice", exact=True)
def slice_(n, x):
    starts = n.attribute("starts") if n.given("starts") else n.ints(1)
    ends = n.attribute("ends") if n.given("ends") else n.ints(2)
    axes = n.axes(3)
    axes = range(len(starts)) if axes is None else axes
    steps = n.ints(4) or [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps):
        axis %= len(x.shape)
        begin, length = slice_range(x.shape[axis], start, end, step)
        x = n.b.slice(x, axis, begin, length, step)
    return x


def pad_axis(b, x, axis, before, after, mode, number):
    if mode == "constant" and getattr(number, "splat", number) is not None:
        return b.pad(x, axis, before, after, getattr(number, "splat", number))
    if mode == "constant":
        shapes = ((*x.shape[:axis], max(side, 0), *x.shape[axis + 1 :]) for side in (before, after))
        first, last = (b.operand(number, x.dtype, shape) for shape in shapes)
        return b.concat([first, b.pad(x, axis, min(before, 0), min(after, 0)), last], axis)
    size = x.shape[axis]
    if not is_known(size):
        raise Refusal(f"mode {mode} along a size of {size}")
    if before < 0 or after < 0:
        x = b.pad(x, axis, min(before, 0), min(after, 0))
        size, before, after = x.shape[axis], max(before, 0), max(after, 0)
    places = numpy.pad(numpy.arange(size), (before, after), mode=mode)
    return b.gather(x, places, axis)


@row("Pad", exact=True)
def pad(n, x):
    pads = n.attribute("pads") if n.given("pads") else n.ints(1)
    axes = [axis % len(x.shape) for axis in n.ints(3) or range(len(x.shape))]
    number = n.attribute("value", 0.0) if n.given("value") else n.x(2) if n.has(2) else 0
    if number is not None and hasattr(number, "shape") and number.shape:
        number = n.b.reshape(number, ())
    for i, axis in enumerate(axes):
        x = pad_axis(n.b, x, axis, pads[i], pads[i + len(axes)], n.attribute("mode", "constant"), number)
    return x


@row("CenterCropPad", exact=True)
def center_crop_pad(n, x):
    axes = [axis % len(x.shape) for axis in n.attribute("axes", range(len(x.shape)))]
    for axis, wanted in zip(axes, n.ints(1)):
        size = x.shape[axis]
        before = (wanted - size) // 2 if wanted > size else -((size - wanted) // 2)
        x = n.b.pad(x, axis, before, wanted - size - before)
    return x


@row("DepthToSpace", exact=True)
def depth_to_space(n, x):
    b, side = n.b, n.attribute("blocksize")
    batch, depth, height, width = x.shape
    left = depth // (side * side)
    if n.attribute("mode", "DCR") == "DCR":
        x = b.transpose(b.reshape(x, (batch, side, side, left, height, width)), (0, 3, 4, 1, 5, 2))
    else:
        x = b.transpose(b.reshape(x, (batch, left, side, side, height, width)), (0, 1, 4, 2, 5, 3))
    return b.reshape(x, (batch, left, height * side, width * side))


@row("SpaceToDepth", exact=True)
def space_to_depth(n, x):
    b, side = n.b, n.attribute("blocksize")
    batch, depth, height, width = x.shape
    x = b.reshape(x, (batch, depth, height // side, side, width // side, side))
    order = (0, 3, 5, 1, 2, 4) if n.attribute("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return b.reshape(b.transpose(x, order), (batch, depth * side * side, height // side, width // side))


@row("ConstantOfShape", out=None)
def constant_of_shape(n):
    tensor = n.attribute("value")
    array = numpy.zeros(1, numpy.float32) if tensor is None else array_of(tensor, "the attribute 'value'")
    kind = ELEMENTS["FLOAT"] if tensor is None else element(tensor.data_type, n.importer.doubles)
    return Typed(n.b.constant(array.item(), kind.computed, tuple(n.ints(0))), kind.name)


@row("EyeLike", out=None)
def eye_like(n):
    rows, columns = n.shape(0)
    kind = element(n.attribute("dtype"), n.importer.doubles) if n.given("dtype") else n.element(0)
    b = n.b
    hit = b.point("eq", b.iota((rows, columns), 1), b.add(b.iota((rows, columns), 0), n.attribute("k", 0)))
    return Typed(b.cast(hit, kind.computed), kind.name)


@row("Trilu", exact=True)
def trilu(n, x):
    b, k = n.b, n.number(1, 0)
    shape = x.shape[-2:]
    if 0 in x.shape:
        return x
    distance = b.sub(b.iota(shape, 1), b.iota(shape, 0))
    kept = b.point("ge" if n.attribute("upper", 1) else "le", distance, k)
    return b.select(kept, x, 0)


@row("Range", out=None)
def range_(n):
    start, limit, delta = (n.number(i) for i in range(3))
    kind = n.element(0)
    if all(is_known(each) for each in (start, limit, delta)):
        length = max(0, int(numpy.ceil((limit - start) / delta)))
    else:
        length = (limit - start) // delta
    steps = n.b.cast(n.b.iota((length,), 0), kind.computed) if length != 0 else n.b.constant(0, kind.computed, (0,))
    return Typed(n.b.add(n.b.mul(steps, delta), start), kind.name)
