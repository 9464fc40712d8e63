"""Images between their points: the numbers around each place are looked up, and weighted by how near they are."""

from __future__ import annotations

from ...builder.sizes import is_known, product
from ..rows import row
from ..scalars import round_half_even
from .windows import with_bias

MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Names of older operator sets."""
CUBIC = -0.75


# ---- places along one axis of an image


def unnormalised(b, at, size, align_corners):
    """Converts places into points: -1 and 1 are the centers of the first and last point, or their outer edges."""
    whole = b.mul(b.add(at, 1.0), (size - 1 if align_corners else size) / 2)
    return whole if align_corners else b.sub(whole, 0.5)


def ends(size, align_corners):
    return (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)


def reflected(b, at, low, high):
    """Places outside are mirrored at the ends until they are inside."""
    if high == low:
        return b.mul(at, 0.0)
    length = high - low
    distance = b.point("abs", b.sub(at, low))
    turns = b.point("floor", b.div(distance, length))
    rest = b.sub(distance, b.mul(turns, length))
    half = b.mul(turns, 0.5)
    is_even = b.point("eq", b.point("floor", half), half)
    mirrored = b.select(is_even, b.add(rest, low), b.sub(high, rest))
    inside = b.point("logical_and", b.point("ge", at, low), b.point("le", at, high))
    return b.select(inside, at, mirrored)


def clamped(b, at, least, most):
    """Limits places; NaN becomes the least one."""
    return b.select(b.point("ge", at, least), b.select(b.point("le", at, most), at, most), least)


def padded(b, at, size, padding, align_corners):
    """Places outside of the image, before the points around them are taken."""
    low, high = ends(size, align_corners)
    if padding == "border":
        outside = b.point("logical_or", b.point("lt", at, low), b.point("gt", at, high))
        return b.select(outside, clamped(b, at, 0.0, size - 1.0), at)
    return reflected(b, at, low, high) if padding == "reflection" else at


def row_at(b, at, size, padding, align_corners):
    """The index of a point at a whole place, and a flag for each that is there; None where all are."""
    inside = None
    if padding == "reflection":
        at = b.point("floor", b.add(reflected(b, at, *ends(size, align_corners)), 2.0**-10))
    if padding == "zeros":
        inside = b.point("logical_and", b.point("ge", at, 0.0), b.point("le", at, size - 1.0))
    index = b.cast(clamped(b, at, 0.0, size - 1.0), "i32")
    return b.known(index, (0, size - 1)), inside


# ---- weights of the points around a place


def linear_weights(b, t):
    return [b.sub(1.0, t), t]


def cubic_weights(b, t):
    return [far(b, b.add(t, 1.0)), near(b, t), near(b, b.sub(1.0, t)), far(b, b.sub(2.0, t))]


def near(b, t):
    return b.add(b.mul(b.sub(b.mul(t, CUBIC + 2), CUBIC + 3), b.mul(t, t)), 1.0)


def far(b, t):
    inner = b.add(b.mul(b.sub(b.mul(t, CUBIC), 5 * CUBIC), t), 8 * CUBIC)
    return b.sub(b.mul(inner, t), 4 * CUBIC)


WEIGHTS = {"linear": (0, linear_weights), "cubic": (-1, cubic_weights)}
"""The first point, counted from the one before the place, and the weights by the distance from that one."""


def points(b, at, size, mode, padding, align_corners):
    """Lists (index, weight, flag) of each point around the places along one axis."""
    if mode == "nearest":
        whole = padded(b, round_half_even(b, at), size, padding, align_corners)
        index, inside = row_at(b, whole, size, padding, align_corners)
        return [(index, None, inside)]
    at = padded(b, at, size, padding, align_corners)
    low = b.point("floor", at)
    first, weights = WEIGHTS[mode]
    found = []
    for i, weight in enumerate(weights(b, b.sub(at, low))):
        index, inside = row_at(b, b.add(low, float(first + i)), size, padding, align_corners)
        found.append((index, weight, inside))
    return found


# ---- images


def sampled(b, image, places, mode="linear", padding="zeros", align_corners=False):
    """[images, channels, sizes...] at the places [images, ...] of each axis, in points: [images, ..., channels]."""
    sizes = image.shape[2:]
    table = b.move(image, 1, -1)
    table = b.reshape(table, (product(table.shape[:-1]), image.shape[1]))
    around = [points(b, at, size, mode, padding, align_corners) for at, size in zip(places, sizes)]
    first = b.mul(b.iota(places[0].shape, 0), product(sizes))
    return mixed(b, table, first, None, None, around, sizes)


def mixed(b, table, index, weight, inside, around, sizes):
    """Sums over the points of the first axis, and for each of them over those of the other axes."""
    if not around:
        return looked_up(b, table, index, weight, inside)
    total = None
    for at, own_weight, own_inside in around[0]:
        flat = b.add(index, b.mul(at, product(sizes[1:])))
        both = joined(b, "mul", weight, own_weight), joined(b, "logical_and", inside, own_inside)
        part = mixed(b, table, flat, *both, around[1:], sizes[1:])
        total = part if total is None else b.add(total, part)
    return total


def joined(b, operation, left, right):
    """Combines two values; None stands for no value."""
    return right if left is None else left if right is None else b.point(operation, left, right)


def looked_up(b, table, index, weight, inside):
    found = b.gather(table, index, 0)
    if inside is not None:
        found = b.select(b.unsqueeze(inside, -1), found, 0)
    return found if weight is None else b.mul(found, b.unsqueeze(weight, -1))


def part_of(b, x, axis, place):
    return b.squeeze(b.slice(x, axis, place, 1), axis)


def expect_image(n, sizes):
    n.refuse_unless(all(map(is_known, sizes)), f"an image of {sizes}, of which a size is known only when it runs")
    n.refuse_unless(all(size > 0 for size in sizes), "an image without points")


@row("GridSample")
def grid_sample(n, image, grid):
    b, align = n.b, bool(n.attribute("align_corners", 0))
    sizes = image.shape[2:]
    expect_image(n, sizes)
    mode = n.attribute("mode", "linear")
    mode, rank = MODES.get(mode, mode), len(sizes)
    n.refuse_unless(mode == "nearest" or n.element(0).is_float, f"mode {mode} of {n.element(0).name}")
    places = [unnormalised(b, part_of(b, grid, -1, rank - 1 - i), size, align) for i, size in enumerate(sizes)]
    return b.move(sampled(b, image, places, mode, n.attribute("padding_mode", "zeros"), align), -1, 1)


@row("DeformConv")
def deform_conv(n, x, weights, offsets, bias, mask):
    """A convolution whose points are shifted, each by its own offset."""
    b, sizes, kernel = n.b, x.shape[2:], weights.shape[2:]
    expect_image(n, sizes)
    n.refuse_unless(all(map(is_known, offsets.shape[2:])), "offsets of sizes that are known only when it runs")
    groups, shifts = n.attribute("group", 1), n.attribute("offset_group", 1)
    batch, channels, count = x.shape[0], x.shape[1], product(kernel)
    images = b.reshape(x, (batch * shifts, channels // shifts, *sizes))
    out = offsets.shape[2:]
    own = b.reshape(offsets, (batch * shifts, *kernel, len(kernel), *out))
    found = sampled(b, images, [shifted(n, own, axis, kernel, out) for axis in range(len(kernel))])
    if mask is not None:
        found = b.mul(found, b.unsqueeze(b.reshape(mask, found.shape[:-1]), -1))
    found = b.reshape(b.move(found, -1, 1), (batch, groups, channels // groups, count, product(out)))
    by_group = b.reshape(weights, (groups, weights.shape[0] // groups, channels // groups, count))
    y = b.matmul("ngcko,gmck->ngmo", found, by_group)
    return with_bias(b, b.reshape(y, (batch, weights.shape[0], *out)), bias)


def shifted(n, offsets, axis, kernel, out):
    """Places of the points of the kernel along one axis, for each place of the result."""
    b, rank = n.b, len(kernel)
    stride = (n.attribute("strides") or [1] * rank)[axis]
    dilation = (n.attribute("dilations") or [1] * rank)[axis]
    before = (n.attribute("pads") or [0] * 2 * rank)[axis]
    own = part_of(b, offsets, 1 + rank, axis)
    at = b.add(b.mul(b.iota(own.shape, 1 + axis), dilation), b.mul(b.iota(own.shape, 1 + rank + axis), stride))
    return b.add(own, b.cast(b.sub(at, before), "f32"))


# ---- regions


@row("RoiAlign")
def roi_align(n, x, regions, batches):
    """Each region in bins of the same number; each bin is the mean, or the largest, of its samples."""
    b, sizes = n.b, x.shape[2:]
    expect_image(n, sizes)
    samples = n.attribute("sampling_ratio", 0)
    n.refuse_unless(samples > 0, "sampling_ratio 0: how many samples there are follows from the regions' numbers")
    bins = [n.attribute("output_height", 1), n.attribute("output_width", 1)]
    axes = [samples_of(n, regions, axis, bins[axis], samples, size) for axis, size in enumerate(sizes)]
    found = weighted(n, x, b.inside(b.places(batches), x.shape[0]), axes)
    if n.attribute("mode", "avg") == "max":
        return b.move(b.reduce("max", found, [2, 4]), -1, 1)
    return b.move(b.div(b.reduce("add", found, [2, 4]), float(samples * samples)), -1, 1)


def samples_of(n, regions, axis, bins, samples, size):
    """Index and weight, both [regions, bins, 2 * samples], of the two points around each sample along one axis."""
    b = n.b
    halves = n.attribute("coordinate_transformation_mode", "output_half_pixel") == "half_pixel"
    scale, shift = n.attribute("spatial_scale", 1.0), 0.5 if halves else 0.0
    begin, end = (b.sub(b.mul(part_of(b, regions, -1, i), scale), shift) for i in (1 - axis, 3 - axis))
    length = b.sub(end, begin)
    length = length if halves else b.point("max", length, 1.0)
    shape = (regions.shape[0], bins, samples)
    step = b.reshape(b.div(length, float(bins)), (regions.shape[0], 1, 1))
    inner = b.mul(b.add(b.cast(b.iota(shape, 2), "f32"), 0.5), 1 / samples)
    place = b.add(b.mul(b.add(b.cast(b.iota(shape, 1), "f32"), inner), step), b.reshape(begin, step.shape))
    return points_of_sample(b, place, size)


def points_of_sample(b, place, size):
    """A sample more than one point away from the image counts nothing, and others are moved into it."""
    inside = b.point("logical_and", b.point("ge", place, -1.0), b.point("le", place, float(size)))
    at = clamped(b, place, 0.0, size - 1.0)
    low = b.point("floor", at)
    high = clamped(b, b.add(low, 1.0), 0.0, size - 1.0)
    rest = b.sub(at, low)
    weights = [b.select(inside, weight, 0.0) for weight in (b.sub(1.0, rest), rest)]
    index = b.known(b.cast(pair(b, low, high), "i32"), (0, size - 1))
    return index, pair(b, *weights)


def pair(b, left, right):
    return b.concat([left, right], -1)


def weighted(n, x, batches, axes):
    """[regions, bins, points, bins, points, channels]: the numbers of all points with their weights."""
    b, (height, width) = n.b, x.shape[2:]
    table = b.reshape(b.move(x, 1, -1), (x.shape[0] * height * width, x.shape[1]))
    (rows, row_weights), (columns, column_weights) = axes
    rows, row_weights = (b.unsqueeze(each, 3, 4) for each in (rows, row_weights))
    columns, column_weights = (b.unsqueeze(each, 1, 2) for each in (columns, column_weights))
    first = b.reshape(b.mul(batches, height * width), (batches.shape[0],) + (1,) * 4)
    index = b.add(first, b.add(b.mul(rows, width), columns))
    return b.mul(b.gather(table, index, 0), b.unsqueeze(b.mul(row_weights, column_weights), -1))
