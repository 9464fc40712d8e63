"""Resizing: along each axis a matrix of interpolation weights, which follows from sizes alone."""

from __future__ import annotations

import math

import numpy

from ...builder.sizes import is_known
from ..refusal import Refusal
from ..rows import row


def source_places(mode, out, size, scale, region):
    """Where on the input's axis each element of the result lies."""
    i = numpy.arange(out, dtype=numpy.float64)
    whole = scale * size  # before it was rounded to `out`
    if mode == "align_corners":
        return i * (size - 1) / (whole - 1) if whole != 1 else i * 0
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_crop_and_resize":
        first, last = region
        if out == 1:
            return i + 0.5 * (first + last) * (size - 1)
        return first * (size - 1) + i * (last - first) * (size - 1) / (whole - 1)
    if mode == "pytorch_half_pixel" and out == 1:
        return i * 0 - 0.5
    places = (i + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        adjusted = out / whole
        places = size / 2 * (1 - adjusted) + (i + 0.5) / scale - 0.5
    return places


NEAREST = {
    "round_prefer_floor": lambda x: numpy.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: numpy.floor(x + 0.5),
    "floor": numpy.floor,
    "ceil": numpy.ceil,
}


def cubic(x, a):
    x = numpy.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return numpy.where(x <= 1, near, numpy.where(x < 2, far, 0))


def tent(x):
    return numpy.maximum(1 - numpy.abs(x), 0)


def matrix(places, size, kernel, reach, stretch, exclude_outside):
    """[results, size]: a row has the weights of the inputs around its place."""
    weights = numpy.zeros((len(places), size))
    for row_, place in enumerate(places):
        taps = numpy.arange(math.floor(place - reach) - 1, math.ceil(place + reach) + 2)
        values = kernel((taps - place) / stretch)
        if exclude_outside:
            values = numpy.where((taps >= 0) & (taps < size), values, 0)
        values = values / values.sum()
        numpy.add.at(weights[row_], numpy.clip(taps, 0, size - 1), values)
    return weights


def axis_matrix(n, mode, out, size, scale, region):
    places = source_places(n.attribute("coordinate_transformation_mode", "half_pixel"), out, size, scale, region)
    if mode == "nearest":
        rounded = NEAREST[n.attribute("nearest_mode", "round_prefer_floor")](numpy.round(places, 10))
        return places, numpy.eye(size)[numpy.clip(rounded, 0, size - 1).astype(int)]
    stretch = max(1.0, 1 / scale) if n.attribute("antialias", 0) else 1.0
    outside = n.attribute("exclude_outside", 0)
    if mode == "cubic":
        a = n.attribute("cubic_coeff_a", -0.75)
        return places, matrix(places, size, lambda x: cubic(x, a), 2 * stretch, stretch, outside)
    return places, matrix(places, size, tent, stretch, stretch, outside)


def apply(b, x, axis, weights):
    moved = b.move(x, axis, -1)
    letters = "abdefghi"[: len(moved.shape) - 1]
    return b.move(b.matmul(f"{letters}c,oc->{letters}o", moved, b.operand(weights.astype(numpy.float32))), -1, axis)


@row("Resize")
def resize(n, x):
    mode = n.attribute("mode", "nearest")
    axes = [axis % len(x.shape) for axis in n.attribute("axes") or range(len(x.shape))]
    if any(not is_known(x.shape[axis]) for axis in axes):
        raise Refusal("sizes that are known only when it runs")
    sizes, scales = wanted_sizes(n, [x.shape[axis] for axis in axes])
    region = n.known(1)
    return resized(n, x, mode, axes, sizes, scales, region)


def wanted_sizes(n, given):
    if n.has(3) and n.known(3).size:
        sizes, policy = n.ints(3), n.attribute("keep_aspect_ratio_policy", "stretch")
        scales = [size / own for size, own in zip(sizes, given)]
        if policy != "stretch":
            scale = (min if policy == "not_larger" else max)(scales)
            sizes, scales = [int(scale * own + 0.5) for own in given], [scale] * len(given)
        return sizes, scales
    scales = [float(scale) for scale in n.known(2).ravel()]
    return [int(math.floor(own * scale)) for own, scale in zip(given, scales)], scales


def resized(n, x, mode, axes, sizes, scales, region):
    b = n.b
    crops = n.attribute("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"
    outside = []
    for i, (axis, out, scale) in enumerate(zip(axes, sizes, scales)):
        part = (region[i], region[i + len(axes)]) if crops else None
        size = x.shape[axis]
        if out == size and scale == 1 and not crops:
            continue
        places, weights = axis_matrix(n, mode, out, size, scale, part)
        x = apply(b, x, axis, weights)
        outside.append((axis, (places < 0) | (places > size - 1)))
    for axis, flags in outside if crops else []:
        if flags.any():
            shape = [size if i == axis else 1 for i, size in enumerate(x.shape)]
            x = b.select(b.reshape(b.operand(flags), shape), n.attribute("extrapolation_value", 0.0), x)
    return x


@row("Upsample")
def upsample(n, x):
    scales = list(n.attribute("scales") or n.known(1).ravel())
    b, mode = n.b, n.attribute("mode", "nearest")
    for axis, scale in enumerate(scales):
        size = x.shape[axis]
        if scale == 1:
            continue
        places = numpy.arange(int(math.floor(size * scale))) / scale
        near = numpy.eye(size)[numpy.clip(numpy.floor(places), 0, size - 1).astype(int)]
        x = apply(b, x, axis, near if mode == "nearest" else matrix(places, size, tent, 1.0, 1.0, False))
    return x
