"""Convolutions and pools: windows along each axis in turn."""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

import numpy

from ...builder.sizes import is_known, product
from ..refusal import Refusal
from ..rows import Typed, row


class Window(NamedTuple):
    """Along one axis; `extra` more are read behind the padding where the count is rounded up."""

    size: int
    stride: int
    dilation: int
    before: int
    after: int
    count: int
    extra: int

    @property
    def reach(self) -> int:
        return self.dilation * (self.size - 1) + 1


def windows_of(n, spatial: Sequence[int], kernel: Sequence[int]) -> list[Window]:
    rank = len(spatial)
    strides = n.attribute("strides") or [1] * rank
    dilations = n.attribute("dilations") or [1] * rank
    pads = n.attribute("pads") or [0] * 2 * rank
    how, up = n.attribute("auto_pad", "NOTSET"), n.attribute("ceil_mode", 0)
    found = []
    for i, (size, k, s, d) in enumerate(zip(spatial, kernel, strides, dilations)):
        if not is_known(size):
            raise Refusal(f"windows along a size of {size}, known only when it runs")
        reach = d * (k - 1) + 1
        before, after = pads[i], pads[i + rank]
        if how.startswith("SAME"):
            total = max(0, (-(-size // s) - 1) * s + reach - size)
            before = total // 2 if how == "SAME_UPPER" else total - total // 2
            after = total - before
        elif how == "VALID":
            before = after = 0
        room = size + before + after - reach
        count = (-(-room // s) if up else room // s) + 1
        if up and (count - 1) * s >= size + before:
            count -= 1
        extra = max(0, (count - 1) * s + reach - (size + before + after))
        found.append(Window(k, s, d, before, after, count, extra))
    return found


def unfold(b, x, windows, number=0):
    """[batch, channels, count, size, count, size, ...]"""
    for i, w in enumerate(windows):
        axis = 2 + 2 * i
        x = b.windows(b.pad(x, axis, w.before, w.after + w.extra, number), axis, w.count, w.size, w.stride, w.dilation)
    return x


def fold_each(b, x, windows, kind, number):
    """Reduces axis after axis, as sums and maxima allow."""
    for i, w in enumerate(windows):
        padded = b.pad(x, 2 + i, w.before, w.after + w.extra, number)
        x = b.reduce(kind, b.windows(padded, 2 + i, w.count, w.size, w.stride, w.dilation), [3 + i])
    return x


def conv_of(n, x, weights, groups):
    b = n.b
    windows = windows_of(n, x.shape[2:], weights.shape[2:])
    return products_of(b, unfold(b, x, windows), weights, groups)


def products_of(b, unfolded, weights, groups):
    """Sums over channels and places in the window, by letters."""
    batch, channels, *rest = unfolded.shape
    rank = len(rest) // 2
    grouped = b.reshape(unfolded, (batch, groups, channels // groups, *rest))
    kernels = b.reshape(weights, (groups, weights.shape[0] // groups) + weights.shape[1:])
    out, inside = "abd"[:rank], "ijk"[:rank]
    left = "ngc" + "".join(o + i for o, i in zip(out, inside))
    result = b.matmul(f"{left},gmc{inside}->ngm{out}", grouped, kernels)
    return b.reshape(result, (batch, weights.shape[0]) + tuple(result.shape[3:]))


def with_bias(b, y, bias):
    return y if bias is None else b.add(y, b.reshape(bias, (bias.shape[0],) + (1,) * (len(y.shape) - 2)))


@row("Conv")
def conv(n, x, weights, bias):
    return with_bias(n.b, conv_of(n, x, weights, n.attribute("group", 1)), bias)


@row("ConvInteger", out="INT32")
def conv_integer(n, x, weights, x_zero, w_zero):
    b = n.b
    x = x if x_zero is None else b.sub(x, x_zero)
    weights = (
        weights
        if w_zero is None
        else b.sub(weights, b.reshape(w_zero, w_zero.shape + (1,) * (3 if w_zero.shape else 0)))
    )
    return conv_of(n, x, weights, n.attribute("group", 1))


@row("ConvTranspose")
def conv_transpose(n, x, weights, bias):
    """A convolution with the kernel backwards, of the input with zeros between its elements."""
    b = n.b
    rank, groups = len(x.shape) - 2, n.attribute("group", 1)
    strides = n.attribute("strides") or [1] * rank
    dilations = n.attribute("dilations") or [1] * rank
    windows = []
    for i in range(rank):
        size, k, s, d = x.shape[2 + i], weights.shape[2 + i], strides[i], dilations[i]
        before, after, more = transposed_pads(n, i, rank, size, k, s, d)
        reach = d * (k - 1) + 1
        x = spread(b, x, 2 + i, s)
        count = x.shape[2 + i] + 2 * (reach - 1) - before - after + more - reach + 1
        windows.append(Window(k, 1, d, reach - 1 - before, reach - 1 - after + more, count, 0))
    each = weights.shape[1]
    flipped = weights
    for i in range(rank):
        flipped = b.reverse(flipped, 2 + i)
    flipped = b.reshape(flipped, (groups, weights.shape[0] // groups, each) + weights.shape[2:])
    flipped = b.reshape(b.move(flipped, 2, 1), (groups * each, weights.shape[0] // groups) + weights.shape[2:])
    return with_bias(b, products_of(b, unfold(b, x, windows), flipped, groups), bias)


def transposed_pads(n, i, rank, size, k, s, d):
    more = (n.attribute("output_padding") or [0] * rank)[i]
    pads = n.attribute("pads") or [0] * 2 * rank
    how, wanted = n.attribute("auto_pad", "NOTSET"), n.attribute("output_shape")
    whole = s * (size - 1) + more + d * (k - 1) + 1
    if wanted is None and how.startswith("SAME"):
        wanted = [size * s if j == i else 0 for j in range(rank)]
    if wanted is None:
        return pads[i], pads[i + rank], more
    total = whole - wanted[i]
    half = total // 2 if total > 0 else 0
    first = half if how == "SAME_UPPER" or total < 0 else total - half
    return first, total - first, more


def spread(b, x, axis, stride):
    """Zeros between the elements."""
    if stride == 1:
        return x
    size = x.shape[axis]
    wide = b.pad(b.unsqueeze(x, axis + 1), axis + 1, 0, stride - 1)
    flat = b.reshape(wide, x.shape[:axis] + (size * stride,) + x.shape[axis + 1 :])
    return b.slice(flat, axis, 0, (size - 1) * stride + 1)


@row("AveragePool")
def average_pool(n, x):
    b = n.b
    windows = windows_of(n, x.shape[2:], n.attribute("kernel_shape"))
    total = fold_each(b, x, windows, "add", 0)
    counts = numpy.ones(())
    for w, size in zip(windows, x.shape[2:]):
        counts = numpy.multiply.outer(counts, counted(w, size, n.attribute("count_include_pad", 0)))
    return b.div(total, counts.astype(numpy.float32))


def counted(w, size, with_pads):
    places = numpy.arange(w.count)[:, None] * w.stride + numpy.arange(w.size)[None] * w.dilation - w.before
    low, high = (-w.before, size + w.after) if with_pads else (0, size)
    return numpy.maximum(((places >= low) & (places < high)).sum(1), 1)


@row("LpPool")
def lp_pool(n, x):
    from ..scalars import power

    b = n.b
    p = n.attribute("p", 2)
    windows = windows_of(n, x.shape[2:], n.attribute("kernel_shape"))
    size = b.point("abs", x)
    raised = size if p == 1 else b.mul(x, x) if p == 2 else power(b, size, b.constant(p, "f32"))
    total = fold_each(b, raised, windows, "add", 0)
    return total if p == 1 else b.point("sqrt", total) if p == 2 else power(b, total, b.constant(1.0 / p, "f32"))


@row("MaxPool", out=None)
def max_pool(n, x):
    b, kind = n.b, n.element(0).name
    windows = windows_of(n, x.shape[2:], n.attribute("kernel_shape"))
    least = -math.inf if x.dtype == "f32" else -(2**31)
    if len(n.node.output) == 1:
        return Typed(fold_each(b, x, windows, "max", least), kind)
    rank = len(windows)
    whole = unfold(b, x, windows, least)
    order = [0, 1] + [2 + 2 * i for i in range(rank)] + [3 + 2 * i for i in range(rank)]
    counts, sizes = [w.count for w in windows], [w.size for w in windows]
    flat = b.reshape(b.transpose(whole, order), (*x.shape[:2], *counts, product(sizes)))
    best = b.largest(flat, [-1])[1]
    place = b.add(b.mul(b.iota(best.shape, 0), x.shape[1]), b.iota(best.shape, 1))
    strides = numpy.cumprod([1] + list(x.shape[2:]))[:-1] if n.attribute("storage_order", 0) else None
    total = b.mul(place, product(x.shape[2:]))
    for i, w in enumerate(windows):
        inside = b.div(best, product(sizes[i + 1 :]))
        inside = b.sub(inside, b.mul(b.div(inside, w.size), w.size))
        at = b.sub(b.add(b.mul(b.iota(best.shape, 2 + i), w.stride), b.mul(inside, w.dilation)), w.before)
        stride = int(strides[i]) if strides is not None else product(x.shape[3 + i :])
        total = b.add(total, b.mul(at, stride))
    return [Typed(b.reduce("max", flat, [-1]), kind), Typed(total, "INT64")]


@row("MaxUnpool")
def max_unpool(n, x, places):
    b = n.b
    rank = len(x.shape) - 2
    kernel, strides = n.attribute("kernel_shape"), n.attribute("strides") or [1] * rank
    pads = n.attribute("pads") or [0] * 2 * rank
    sizes = [(x.shape[2 + i] - 1) * strides[i] - pads[i] - pads[i + rank] + kernel[i] for i in range(rank)]
    own = (*x.shape[:2], *sizes)
    shape = tuple(n.ints(2)) if n.has(2) else own
    count = product(own)
    each = product(x.shape)
    put = [b.constant(0.0, "f32", (count, 1)), b.reshape(x, (each, 1)), b.reshape(places, (each,))]
    flat = b.reshape(b.node("insert", put, axis=0), own)
    for axis in range(2, len(shape)):
        flat = b.pad(flat, axis, 0, shape[axis] - own[axis])
    return flat


@row("Col2Im")
def col_to_im(n, x):
    """The sum of overlapping blocks: each place in the block adds a shifted, spread image."""
    b = n.b
    image, block = n.ints(1), n.ints(2)
    rank = len(image)
    strides, dilations = n.attribute("strides") or [1] * rank, n.attribute("dilations") or [1] * rank
    pads = n.attribute("pads") or [0] * 2 * rank
    padded = [image[i] + pads[i] + pads[i + rank] for i in range(rank)]
    counts = [(padded[i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
    channels = x.shape[1] // product(block)
    x = b.reshape(x, (x.shape[0], channels, *block, *counts))
    for i in range(rank):  # the first axis of the block stands beside its axis of the image
        x = overlapped(b, x, 2, 2 + rank - i, strides[i], dilations[i], padded[i])
        x = b.move(x, 2 + rank - i - 1, -1)
    for i in range(rank):
        x = b.slice(x, 2 + i, pads[i], image[i])
    return x


def overlapped(b, x, inner, outer, stride, dilation, size):
    """Sums out[stride * o + dilation * k] over the axes inner (k) and outer (o), which becomes one of `size`."""
    total = None
    for k in range(x.shape[inner]):
        part = b.squeeze(b.slice(x, inner, k, 1), inner)
        wide = spread(b, part, outer - 1, stride)
        before = k * dilation
        part = b.pad(wide, outer - 1, before, size - before - wide.shape[outer - 1])
        total = part if total is None else b.add(total, part)
    return total
