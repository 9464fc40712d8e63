"""Integers that stand for floats, by a scale and the integer that is zero."""

from __future__ import annotations

from ...builder.sizes import is_known
from ..formats import FORMATS
from ..rounding import rounded
from ..rows import Typed, row
from ..scalars import round_half_even
from ..types import element
from .products import matmul_of
from .windows import conv_of, with_bias

RANGES = {"INT8": (-128, 127), "UINT8": (0, 255), "INT16": (-(2**15), 2**15 - 1), "UINT16": (0, 2**16 - 1)}
RANGES |= {"INT4": (-8, 7), "UINT4": (0, 15), "INT2": (-2, 1), "UINT2": (0, 3)}


def aligned(n, x, scale, axis):
    """One number for all, one for each slice along an axis, or one for each block along it."""
    b = n.b
    if not scale.shape or scale.shape == (1,):
        return b.reshape(scale, ())
    axis %= len(x.shape)
    block = n.attribute("block_size", 0)
    if not block:
        return b.reshape(scale, [size if i == axis else 1 for i, size in enumerate(x.shape)])
    wide = b.spread(b.unsqueeze(scale, axis + 1), scale.shape[: axis + 1] + (block,) + scale.shape[axis + 1 :])
    whole = scale.shape[:axis] + (scale.shape[axis] * block,) + scale.shape[axis + 1 :]
    return b.slice(b.reshape(wide, whole), axis, 0, x.shape[axis])


def quantized(n, x, scale, zero, name):
    b = n.b
    if name in FORMATS:
        return quantized_float(n, x, scale, zero, FORMATS[name])
    n.refuse_unless(name in RANGES, f"the element type {name}")
    low, high = RANGES[name]
    y = round_half_even(b, b.div(x, scale))
    y = y if zero is None else b.add(y, b.cast(zero, "f32"))
    return b.cast(b.point("max", b.point("min", y, float(high)), float(low)), "i32")


def quantized_float(n, x, scale, zero, kind):
    y = n.b.div(x, scale)
    return rounded(n.b, y if zero is None else n.b.add(y, zero), kind, bool(n.attribute("saturate", 1)))


def real(b, x, scale, zero):
    return b.mul(b.cast(x if zero is None else b.sub(x, zero), "f32"), scale)


@row("QuantizeLinear", out=None)
def quantize(n, x, scale):
    axis = n.attribute("axis", 1)
    name = n.element(2).name if n.has(2) else element(n.attribute("output_dtype") or 2).name
    n.refuse_unless(n.element(0).is_float and n.attribute("precision", 0) in (0, 1), "precision")
    zero = aligned(n, x, n.x(2), axis) if n.has(2) else None
    return Typed(quantized(n, x, aligned(n, x, scale, axis), zero, name), name)


@row("DequantizeLinear", out=None)
def dequantize(n, x, scale):
    axis = n.attribute("axis", 1)
    zero = aligned(n, x, n.x(2), axis) if n.has(2) else None
    name = element(n.attribute("output_dtype")).name if n.attribute("output_dtype", 0) else n.element(1).name
    return Typed(real(n.b, x, aligned(n, x, scale, axis), zero), name)


@row("DynamicQuantizeLinear", out=None)
def dynamic_quantize(n, x):
    b = n.b
    axes = range(len(x.shape))
    most = b.point("max", b.reduce("max", x, axes), 0.0)
    least = b.point("min", b.reduce("min", x, axes), 0.0)
    scale = b.div(b.sub(most, least), 255.0)
    zero = round_half_even(b, b.point("max", b.point("min", b.div(b.point("neg", least), scale), 255.0), 0.0))
    zero = b.cast(zero, "i32")
    return [Typed(quantized(n, x, scale, zero, "UINT8"), "UINT8"), Typed(scale, "FLOAT"), Typed(zero, "UINT8")]


@row("QLinearMatMul", out=None)
def qlinear_matmul(n, a, a_scale, a_zero, y, y_scale, y_zero, scale, zero):
    b = n.b

    def along(v, rows):
        return b.unsqueeze(v, -1) if rows and v.shape and v.shape[-1] != 1 else v

    total = matmul_of(b, b.sub(a, along(a_zero, True)), b.sub(y, y_zero))
    result = b.mul(b.cast(total, "f32"), b.mul(along(a_scale, True), y_scale))
    return Typed(quantized(n, result, along(scale, True), along(zero, True), n.element(7).name), n.element(7).name)


@row("QLinearConv", out=None)
def qlinear_conv(n, x, x_scale, x_zero, w, w_scale, w_zero, scale, zero, bias):
    b = n.b
    n.refuse_unless(is_known(w.shape[0]), "kernels")

    def by_kernel(v):
        return b.reshape(v, v.shape + (1,) * (len(w.shape) - 1)) if v.shape and v.shape != (1,) else b.reshape(v, ())

    total = conv_of(n, b.sub(x, x_zero), b.sub(w, by_kernel(w_zero)), n.attribute("group", 1))
    total = with_bias(b, total, bias)
    factor = (
        b.reshape(w_scale, w_scale.shape + (1,) * (len(w.shape) - 2))
        if w_scale.shape not in ((), (1,))
        else b.reshape(w_scale, ())
    )
    result = b.mul(b.cast(total, "f32"), b.mul(x_scale, factor))
    return Typed(quantized(n, result, scale, zero, n.element(7).name), n.element(7).name)
