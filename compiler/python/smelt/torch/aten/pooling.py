"""Pools with places, pools of windows that differ in length, and their reversal."""

from __future__ import annotations

import math

import torch

from ...builder import Value
from ...builder.sizes import product
from ..registry import refuse, row
from .convolution import _each, _pool
from .indexing import element_places, flat_places
from .reduction import largest
from .scatter import add_at, put_at

# ---- the largest and its place


@row("aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default")
def max_pool(w, out, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """Of equal elements the first one has the gradient."""
    n = self.rank - 1 if len(_each(kernel_size, 1)) == self.rank - 1 else self.rank - 2
    kernel = _each(kernel_size, n)
    stride = _each(stride, n) if stride else kernel
    x, axes = _pool(
        w, out.shape, self, kernel, stride, _each(padding, n), _each(dilation, n), ceil_mode, -math.inf
    )
    best = _first_largest(w, x, axes)[0] if self.grad else w.reduce("max", x, axes)
    return w.reshape(best, out.shape)


@row("aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default")
def max_pool_with_indices(w, out, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The place is that in the image, in row-major order; of equal elements the first."""
    kernel, n = list(kernel_size), len(kernel_size)
    stride = _each(stride, n) if stride else kernel
    padding, dilation = _each(padding, n), _each(dilation, n)
    x, axes = _pool(w, out[0].shape, self, kernel, stride, padding, dilation, ceil_mode, -math.inf)
    best, inside = _first_largest(w, x, axes)
    return w.reshape(best, out[0].shape), w.reshape(
        _image_places(w, inside, self.shape[-n:], kernel, stride, padding, dilation), out[1].shape
    )


def _first_largest(w, x: Value, axes) -> tuple[Value, Value]:
    """Reduces the places in the windows as one dim."""
    rest = [i for i in range(x.rank) if i not in axes]
    x = w.transpose(x, rest + list(axes))
    flat = w.reshape(x, x.shape[: len(rest)] + (product(x.shape[len(rest) :]),))
    return largest(w, flat, len(rest))


def _image_places(w, inside: Value, sizes, kernel, stride, padding, dilation) -> Value:
    """Turns places in windows into places in the image; `inside` is [batch, channel, window, window, ...]."""
    places = []
    n = len(kernel)
    for i in range(n):
        step = math.prod(kernel[i + 1 :])
        at = w.div(inside, step) if step > 1 else inside
        at = w.sub(at, w.mul(w.div(at, kernel[i]), kernel[i]))
        begin = w.iota(inside.shape, inside.rank - n + i, stride[i], -padding[i])
        places.append(w.add(begin, w.mul(at, dilation[i])))
    result = flat_places(w, places, tuple(sizes))
    result.low = 0
    return result


# ---- windows that differ in length


def _window(size: int, count: int, i: int) -> tuple[int, int]:
    return i * size // count, -(-(i + 1) * size // count)


def _sizes(x: Value, output_size) -> list[tuple[int, int, int]]:
    """The axis, the size and the number of windows of each pooled dim."""
    n = len(output_size)
    found = [(x.rank - n + i, x.shape[x.rank - n + i], count) for i, count in enumerate(output_size)]
    if any(not isinstance(size, int) or not isinstance(count, int) for _, size, count in found):
        refuse("windows of different lengths, of a size that changes")
    return found


def mean_of_windows(w, x: Value, output_size) -> Value:
    """Multiplies by a matrix of shares along each dim."""
    for axis, size, count in _sizes(x, output_size):
        shares = torch.zeros(count, size)
        for i in range(count):
            begin, end = _window(size, count, i)
            shares[i, begin:end] = 1.0 / (end - begin)
        letters = "abcdef"[: x.rank]
        spec = f"{letters},z{letters[axis]}->{letters.replace(letters[axis], 'z')}"
        x = w.matmul(spec, x, w.table(shares))
    return x


@row("aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default")
def adaptive_max_pool(w, out, self, output_size):
    """Windows are filled up with their first elements, which change no maximum."""
    x, places, axes = self, [], []
    sizes = _sizes(self, output_size)
    for i, (axis, size, count) in enumerate(sizes):
        table = _window_places(size, count)
        x = w.gather(x, w.table(table), axis + i)
        axes.append(axis + i + 1)
        places.append(table)
    best, inside = _first_largest(w, x, axes)
    lengths = [table.shape[1] for table in places]
    whole = []
    for i, table in enumerate(places):
        step = math.prod(lengths[i + 1 :])
        at = w.div(inside, step) if step > 1 else inside
        at = w.sub(at, w.mul(w.div(at, lengths[i]), lengths[i]))
        first = w.mul(w.iota(inside.shape, inside.rank - len(places) + i), lengths[i])
        flat = w.add(first, at)
        flat.low = 0
        whole.append(w.gather(w.table(table.reshape(-1)), flat, 0))
    place = flat_places(w, whole, tuple(size for _, size, _ in sizes))
    return w.reshape(best, out[0].shape), w.reshape(place, out[1].shape)


def _window_places(size: int, count: int) -> torch.Tensor:
    """[windows, the longest]"""
    windows = [_window(size, count, i) for i in range(count)]
    most = max(end - begin for begin, end in windows)
    return torch.tensor([[b + j if b + j < e else b for j in range(most)] for b, e in windows])


# ---- reversal


@row("aten.max_unpool2d.default", "aten.max_unpool3d.default")
def max_unpool(w, out, self, indices, output_size, stride=None, padding=None):
    """Puts the elements at their places in an image of zeros. Each element has the gradient of its place, also where
    several have the same place, of which a scatter would give it to the last one alone."""
    n = len(output_size)
    front = out.shape[:-n]
    flat = (*front, product(out.shape[-n:]))
    x = w.reshape(self, (*front, product(self.shape[-n:])))
    at = element_places(w, flat, len(flat) - 1, w.places(w.reshape(indices, x.shape)))
    zeros = w.constant(0.0, "f32", flat)
    result = put_at(w, zeros, at, w.stop(x))
    if x.grad:
        finite = w.point("lt", w.point("abs", w.stop(x)), math.inf)
        total = add_at(w, zeros, at, w.select(finite, x, 0.0))
        result = w.add(result, w.sub(total, w.stop(total)))
    return w.reshape(result, out.shape)
