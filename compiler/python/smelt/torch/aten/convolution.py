"""Convolutions, and pools: reductions over windows of the input."""

from __future__ import annotations

import math

from ...builder import Value
from ..registry import row
from .shape import flip


def _each(numbers, count: int) -> list[int]:
    numbers = [numbers] if isinstance(numbers, int) else list(numbers)
    return numbers * count if len(numbers) == 1 else numbers


def windows(w, x: Value, out_sizes, kernel, stride, padding, dilation, fill=0) -> Value:
    """[batch, channel, place, in the window, place, in the window, ...] of [batch, channel, size, size, ...]."""
    for i, (before, after) in enumerate(padding):
        x = w.pad(x, 2 + i, before, after, fill)
    for i in reversed(range(len(kernel))):
        x = w.windows(x, 2 + i, out_sizes[i], kernel[i], stride[i], dilation[i])
    return x


@row("aten.convolution.default")
def convolution(
    w, out, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    n = weight.rank - 2
    stride, dilation = _each(stride, n), _each(dilation, n)
    if transposed:
        return _transposed(w, out, input, weight, bias, stride, _each(padding, n), dilation, groups)
    sides = [(p, p) for p in _each(padding, n)]
    return _convolved(w, out, input, weight, bias, stride, sides, dilation, groups)


@row("aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default")
def convolution_of_rank(w, out, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return convolution(w, out, input, weight, bias, stride, padding, dilation, False, 0, groups)


@row("aten.conv1d.padding", "aten.conv2d.padding", "aten.conv3d.padding")
def convolution_padded(w, out, input, weight, bias=None, stride=1, padding="valid", dilation=1, groups=1):
    n = weight.rank - 2
    spans = [d * (k - 1) for d, k in zip(_each(dilation, n), weight.shape[2:])]
    sides = [(s // 2, s - s // 2) if padding == "same" else (0, 0) for s in spans]
    return _convolved(w, out, input, weight, bias, _each(stride, n), sides, _each(dilation, n), groups)


def _convolved(w, out, x, weight, bias, stride, sides, dilation, groups) -> Value:
    """A side that is below 0 is cut off the input."""
    n = weight.rank - 2
    batched = x.rank == n + 2
    x = x if batched else w.reshape(x, (1,) + x.shape)
    for i, (before, after) in enumerate(sides):
        if not all(isinstance(side, int) and side >= 0 for side in (before, after)):
            x, sides[i] = w.pad(x, 2 + i, before, after, 0), (0, 0)
    pads = [before for before, _ in sides] + [after for _, after in sides]
    for i, spread in enumerate(dilation):  # the kernel fits into the input
        w.require_natural(x.shape[2 + i] + sum(sides[i]) - spread * (weight.shape[2 + i] - 1) - 1)
    operands = [x, weight] + ([bias] if bias is not None else [])
    result = w.node("conv", operands, strides=stride, pads=pads, dilations=dilation, groups=groups)
    return w.reshape(result, out.shape)


def _transposed(w, out, x, weight, bias, stride, padding, dilation, groups) -> Value:
    """A convolution of the input with zeros between its elements, by the turned kernel."""
    n = weight.rank - 2
    if x.rank != n + 2:
        whole = type(out)(out.dtype, (1,) + out.shape, out.torch_dtype)
        result = _transposed(
            w, whole, w.reshape(x, (1,) + x.shape), weight, bias, stride, padding, dilation, groups
        )
        return w.reshape(result, out.shape)
    sides = []
    for i in range(n):
        x = _apart(w, x, 2 + i, stride[i])
        before = dilation[i] * (weight.shape[2 + i] - 1) - padding[i]
        length = x.shape[2 + i] + before - dilation[i] * (weight.shape[2 + i] - 1)
        sides.append((before, out.shape[2 + i] - length))
    kernel = flip(w, None, weight, list(range(2, 2 + n)))
    split = (groups, weight.shape[0] // groups) + weight.shape[1:]
    order = [0, 2, 1, *range(3, 3 + n)]
    kernel = w.transpose(w.reshape(kernel, split), order)
    kernel = w.reshape(kernel, (groups * weight.shape[1], split[1]) + weight.shape[2:])
    return _convolved(w, out, x, kernel, bias, [1] * n, sides, dilation, groups)


def _apart(w, x: Value, axis: int, step: int) -> Value:
    """step - 1 zeros between elements along an axis."""
    if step == 1:
        return x
    size = x.shape[axis]
    wide = w.reshape(x, x.shape[: axis + 1] + (1,) + x.shape[axis + 1 :])
    wide = w.pad(wide, axis + 1, 0, step - 1, 0)
    length = size * step
    wide = w.reshape(wide, x.shape[:axis] + (length,) + x.shape[axis + 1 :])
    return w.slice(wide, axis, 0, length - (step - 1))


# ---- pools


def _pool(w, out_shape, x, kernel, stride, padding, dilation, ceil_mode, fill) -> tuple[Value, list[int]]:
    n = len(kernel)
    batched = x.rank == n + 2
    x = x if batched else w.reshape(x, (1,) + x.shape)
    sizes = out_shape[-n:]
    sides = []
    for i in range(n):
        after = padding[i]
        if ceil_mode:  # as far as the last window reaches
            reach = (sizes[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1
            after = reach - x.shape[2 + i] - padding[i]
        sides.append((padding[i], after))
    return windows(w, x, sizes, kernel, stride, sides, dilation, fill), [3 + 2 * i for i in range(n)]


@row("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def avg_pool(
    w, out, self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    kernel = _each(kernel_size, 1)
    n = len(kernel)
    stride, padding = (_each(stride, n) if stride else kernel), _each(padding, n)
    sizes = self.shape[-n:]
    if not any(padding) and all(isinstance(size, int) and size <= length for size, length in zip(sizes, kernel)):
        total = w.reshape(w.sum(self, range(self.rank - n, self.rank)), out.shape)  # one window, maybe beyond the input
        return w.div(total, divisor_override or math.prod(sizes))
    x, axes = _pool(w, out.shape, self, kernel, stride, padding, [1] * n, ceil_mode, 0)
    total = w.reshape(w.sum(x, axes), out.shape)
    if divisor_override is not None:
        return w.div(total, divisor_override)
    if not ceil_mode and (count_include_pad or not any(padding)):
        return w.div(total, math.prod(kernel))
    return w.div(total, _counted(w, out, self, kernel, stride, padding, ceil_mode, count_include_pad))


def _counted(w, out, self, kernel, stride, padding, ceil_mode, count_include_pad) -> Value:
    """How many elements each window counts."""
    ones = w.constant(1.0, "f32", self.shape)
    n = len(kernel)
    if count_include_pad:
        for i in range(n):
            ones = w.pad(ones, self.rank - n + i, padding[i], padding[i], 1.0)
        padding = [0] * n
    x, axes = _pool(w, out.shape, ones, kernel, stride, padding, [1] * n, ceil_mode, 0)
    return w.reshape(w.sum(x, axes), out.shape)


@row(
    "aten.adaptive_avg_pool1d.default",
    "aten._adaptive_avg_pool2d.default",
    "aten.adaptive_avg_pool2d.default",
    "aten._adaptive_avg_pool3d.default",
    "aten.adaptive_avg_pool3d.default",
)
def adaptive_avg_pool(w, out, self, output_size):
    """Windows that are equally long are dims of their own."""
    n = len(output_size)
    if any(not _divides(self.shape[self.rank - n + i], count) for i, count in enumerate(output_size)):
        from .pooling import mean_of_windows

        return mean_of_windows(w, self, output_size)
    x, axes = self, []
    for i in range(n):
        axis, count = self.rank - n + i, output_size[i]
        size = self.shape[axis]
        length = size if count == 1 else size // count
        at = axis + len(axes)
        x = w.reshape(x, x.shape[:at] + (count, length) + x.shape[at + 1 :])
        axes.append(at + 1)
    from .reduction import mean_of

    return w.reshape(mean_of(w, x, axes), out.shape)


def _divides(size, count) -> bool:
    return count == 1 or (isinstance(size, int) and isinstance(count, int) and size % count == 0)
