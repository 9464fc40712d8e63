"""Rounds floats to fewer bits by arithmetic on FLOAT."""

from __future__ import annotations

import math

from ..text import Value
from .build import Builder
from .formats import Format
from .scalars import round_half_even


def powers(b: Builder, a: Value, kind: Format) -> tuple[Value, Value]:
    """The largest power of two that is at most a, from the least normal number on, and how many doublings it is above
    that."""
    unit, count = b.full(kind.least_normal, "f32", a.shape), b.full(0, "i32", a.shape)
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
