"""Rounds floats to fewer bits, and takes them apart into bits, by arithmetic on FLOAT."""

from __future__ import annotations

import math

import numpy

from ..builder import Value
from .build import Builder
from .formats import Format
from .scalars import round_half_even


def powers(b: Builder, a: Value, kind: Format) -> tuple[Value, Value]:
    """The largest power of two that is at most a, from the least normal number on, and how many doublings it is above
    that."""
    unit, count = b.constant(kind.least_normal, "f32", a.shape), b.constant(0, "i32", a.shape)
    for step in kind.steps:
        next_unit = b.mul(unit, 2.0**step)
        holds = b.point("ge", a, next_unit)
        unit, count = b.select(holds, next_unit, unit), b.select(holds, b.add(count, step), count)
    return unit, count


def rounded(b: Builder, x: Value, kind: Format, saturate: bool, mode: str = "up") -> Value:
    """The numbers of the format that are nearest; of two the one whose last bit is 0. `mode`: of formats without a
    mantissa."""
    a = b.point("abs", x)
    unit = powers(b, a, kind)[0]
    size = nearest(b, a, unit, kind) if kind.mantissa else power_near(b, a, unit, mode)
    size = b.select(b.point("gt", size, kind.most), kind.most if saturate else kind.beyond, size)
    if not kind.is_signed:
        return unsigned(b, a, size, kind, saturate)
    if not math.isnan(kind.beyond) and math.isfinite(kind.beyond):  # the format has no other number for NaN
        size = b.select(b.point("ne", x, x), 0.0, size)
    return signed(b, x, size, kind)


def nearest(b: Builder, a: Value, unit: Value, kind: Format) -> Value:
    last_bit = b.mul(unit, 2.0**-kind.mantissa)
    return b.mul(round_half_even(b, b.div(a, last_bit)), last_bit)


def power_near(b: Builder, a: Value, unit: Value, mode: str) -> Value:
    """The power of two below a, above it ("up"), or the nearest one ("nearest")."""
    if mode == "down":
        return unit
    ratio = b.div(a, unit)
    goes_up = b.point("gt", ratio, 1.0) if mode == "up" else b.point("ge", ratio, 1.5)
    return b.select(goes_up, b.mul(unit, 2.0), unit)


def unsigned(b: Builder, a: Value, size: Value, kind: Format, saturate: bool) -> Value:
    """Keeps NaN. Numbers below the least one become that, or NaN."""
    fits = b.point("ge", a, 0.0 if saturate else kind.least_normal)
    return b.select(fits, size, math.nan)


def signed(b: Builder, x: Value, size: Value, kind: Format) -> Value:
    """Gives the sign of x to a size, also to a zero where the format has two of them."""
    y = b.select(b.point("lt", x, 0.0), b.point("neg", size), size)
    is_zero = b.point("eq", x if kind.has_negative_zero else y, 0.0)
    return b.select(is_zero, x if kind.has_negative_zero else 0.0, y)


def bits_of(b: Builder, x: Value, kind: Format) -> Value:
    """The bits of numbers of the format, as an integer without a sign, or of 32 bits with one. Every NaN has the bits
    of the one that NumPy makes."""
    a = b.point("abs", x)
    unit, count = powers(b, a, kind)
    last_bit = b.mul(unit, 2.0**-kind.mantissa)
    is_finite = b.point("le", a, kind.most)
    low = b.cast(b.div(b.select(is_finite, a, 0.0), b.select(is_finite, last_bit, 1.0)), "i32")
    code = b.add(b.mul(count, 2**kind.mantissa), low if kind.mantissa else b.sub(low, 1))
    code = b.select(is_finite, code, code_of(math.inf, kind))
    if kind.is_signed:
        code = b.select(is_negative(b, x), b.add(code, sign_of(kind)), code)
    return b.select(b.point("ne", x, x), code_of(math.nan, kind), code)


def is_negative(b: Builder, x: Value) -> Value:
    """Tells the sign, also that of a zero."""
    is_zero = b.point("eq", x, 0.0)
    return b.point("lt", b.select(is_zero, b.point("reciprocal", x), x), 0.0)


def sign_of(kind: Format) -> int:
    """The value of the bit of the sign."""
    return -(2**31) if kind.bits == 32 else 2 ** (kind.bits - 1)


def code_of(number: float, kind: Format) -> int:
    """The bits of a positive number, or of NaN."""
    return int(numpy.array(number, kind.numpy).view(f"u{kind.numpy.itemsize}"))


def number_of(b: Builder, code: Value, kind: Format) -> Value:
    """The number of the format that has these bits. `code`: an integer of as many bits, with a sign or without."""
    if kind.bits < 32:
        code = b.select(b.point("lt", code, 0), b.add(code, 2**kind.bits), code)
    if kind.bits <= 8:
        return number_of_few(b, code, kind)
    is_below = b.point("lt", code, 0) if kind.bits == 32 else b.point("ge", code, sign_of(kind))
    size = size_of(b, b.select(is_below, b.sub(code, sign_of(kind)), code), kind)
    return b.select(is_below, b.point("neg", size), size)


def size_of(b: Builder, rest: Value, kind: Format) -> Value:
    """The number that the bits without that of the sign have."""
    count = b.div(rest, 2**kind.mantissa)
    low = b.sub(rest, b.mul(count, 2**kind.mantissa))
    is_finite = b.point("lt", count, 2**kind.exponent - 1)
    whole = b.select(b.point("gt", count, 0), b.add(low, 2**kind.mantissa), low)
    exponent = b.sub(b.select(is_finite, b.point("max", count, 1), 1), kind.bias + kind.mantissa)
    size = scaled(b, b.cast(whole, "f32"), exponent)
    return b.select(is_finite, size, b.select(b.point("eq", low, 0), math.inf, math.nan))


def number_of_few(b: Builder, code: Value, kind: Format) -> Value:
    """Looks the bits up in a table of all numbers of the format."""
    all_bits = numpy.arange(2**kind.bits, dtype=numpy.uint8)
    table = b.operand(all_bits.view(kind.numpy).astype(numpy.float32))
    return b.gather(table, b.known(code, (0, 2**kind.bits - 1)), 0)


def scaled(b: Builder, x: Value, exponent: Value) -> Value:
    """x times 2 to the exponent, from -149 to 104. Where a float holds the result, it holds each step on the way."""
    for step in (64, 64, 32, 16, 8, 4, 2, 1):
        up, down = b.point("ge", exponent, step), b.point("le", exponent, -step)
        factor = b.select(up, 2.0**step, b.select(down, 2.0**-step, 1.0))
        x = b.mul(x, factor)
        exponent = b.sub(exponent, b.mul(b.sub(b.cast(up, "i32"), b.cast(down, "i32")), step))
    return x
