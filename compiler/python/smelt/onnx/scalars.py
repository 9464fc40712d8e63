"""Functions of numbers that Smelt has no operation for, composed of those that it has."""

from __future__ import annotations

import math
from typing import Any

from ..builder import Value
from ..builder.sizes import broadcast_shapes
from ..ranges import INTEGERS
from .build import Builder


def ceil(b: Builder, x: Value) -> Value:
    return b.point("neg", b.point("floor", b.point("neg", x)))


def round_half_even(b: Builder, x: Value) -> Value:
    """The nearest whole number; of two the even one."""
    low = b.point("floor", x)
    rest = b.sub(x, low)
    half_of_low = b.mul(low, 0.5)
    is_odd = b.point("ne", b.point("floor", half_of_low), half_of_low)
    up = b.point("logical_or", b.point("gt", rest, 0.5), b.point("logical_and", b.point("eq", rest, 0.5), is_odd))
    return b.select(up, b.add(low, 1.0), low)


def cosh(b: Builder, x: Value) -> Value:
    a = b.point("abs", x)
    e = b.point("exp", a)
    usual = b.mul(b.add(e, b.point("reciprocal", e)), 0.5)
    return b.select(b.point("gt", a, LARGE_ANGLE), half_exp(b, a), usual)


def sinh(b: Builder, x: Value) -> Value:
    """By exp(x) - 1, which keeps the digits of small numbers."""
    a = b.point("abs", x)
    m = b.point("expm1", a)
    usual = b.mul(b.add(m, b.div(m, b.add(m, 1.0))), 0.5)
    return b.mul(b.point("sign", x), b.select(b.point("gt", a, LARGE_ANGLE), half_exp(b, a), usual))


LARGE_ANGLE = 80.0
"""exp(-x) is nothing beside exp(x) from far below, and exp(x) is infinite from 88.8 on."""


def half_exp(b: Builder, x: Value) -> Value:
    """exp(x) / 2, where exp(x) may be infinite."""
    root = b.point("exp", b.mul(x, 0.5))
    return b.mul(b.mul(root, 0.5), root)


def asinh(b: Builder, x: Value) -> Value:
    """log(|x| + sqrt(x^2 + 1)), as log1p of what is small with x."""
    a = b.point("abs", x)
    square = b.mul(a, a)
    more = b.div(square, b.add(b.point("sqrt", b.add(square, 1.0)), 1.0))
    return b.mul(b.point("sign", x), log_of_double(b, a, b.point("log1p", b.add(a, more))))


def acosh(b: Builder, x: Value) -> Value:
    t = b.sub(x, 1.0)
    return log_of_double(b, x, b.point("log1p", b.add(t, b.point("sqrt", b.mul(t, b.add(x, 1.0))))))


def log_of_double(b: Builder, x: Value, usual: Value) -> Value:
    """log(2 x) of what is so large that its square may be infinite, else `usual`."""
    return b.select(b.point("gt", x, 1e9), b.add(b.point("log", x), math.log(2)), usual)


def atanh(b: Builder, x: Value) -> Value:
    return b.mul(b.sub(b.point("log1p", x), b.point("log1p", b.point("neg", x))), 0.5)


def atan(b: Builder, x: Value) -> Value:
    """The reciprocal of what is above 1, two halvings of the angle, and the power series."""
    a = b.point("abs", x)
    is_large = b.point("gt", a, 1.0)
    t = b.select(is_large, b.point("reciprocal", a), a)
    for _ in range(2):
        t = b.div(t, b.add(b.point("sqrt", b.add(b.mul(t, t), 1.0)), 1.0))
    square = b.mul(t, t)
    series: Any = 0.0
    for power in (9, 7, 5, 3, 1):
        series = b.add(b.mul(square, series), (-1.0) ** (power // 2) / power) if power != 9 else 1.0 / 9
    angle = b.mul(b.mul(t, series), 4.0)
    return b.mul(b.point("sign", x), b.select(is_large, b.sub(math.pi / 2, angle), angle))


def asin(b: Builder, x: Value) -> Value:
    """2 atan(x / (1 + sqrt(1 - x^2))), which has no pole."""
    root = b.point("sqrt", b.mul(b.sub(1.0, x), b.add(x, 1.0)))
    return b.mul(atan(b, b.div(x, b.add(root, 1.0))), 2.0)


def acos(b: Builder, x: Value) -> Value:
    """2 atan(sqrt((1 - x) / (1 + x)))."""
    return b.mul(atan(b, b.div(b.point("sqrt", b.sub(1.0, x)), b.point("sqrt", b.add(x, 1.0)))), 2.0)


def softplus(b: Builder, x: Value) -> Value:
    return b.add(b.point("max", x, 0.0), b.point("log1p", b.point("exp", b.point("neg", b.point("abs", x)))))


def mish(b: Builder, x: Value) -> Value:
    return b.mul(x, b.point("tanh", softplus(b, x)))


def hard_swish(b: Builder, x: Value) -> Value:
    gate = b.point("max", b.point("min", b.add(b.mul(x, 1.0 / 6), 0.5), 1.0), 0.0)
    return b.mul(x, gate)


def elu(b: Builder, x: Value, alpha: float) -> Value:
    return b.select(b.point("lt", x, 0), b.mul(b.point("expm1", x), alpha), x)


PRODUCTS = {
    2: lambda b, x: b.mul(x, x),
    3: lambda b, x: b.mul(b.mul(x, x), x),
    -1: lambda b, x: b.point("reciprocal", x),
}
"""Powers by numbers that need no logarithm, and so have all digits."""


def power(b: Builder, x: Value, y: Value) -> Value:
    """x to the y, in the type of x."""
    if x.dtype in INTEGERS and y.dtype in INTEGERS:
        return whole_power(b, x, y)
    product = PRODUCTS.get(y.splat)
    if product is not None and x.dtype not in INTEGERS:
        return b.spread(product(b, b.cast(x, "f32")), broadcast_shapes(x.shape, y.shape))
    base, exponent = b.cast(x, "f32"), b.cast(y, "f32")
    size = b.point("exp", b.mul(exponent, b.point("log", b.point("abs", base))))
    half = b.mul(exponent, 0.5)
    is_whole = b.point("eq", b.point("floor", exponent), exponent)
    is_odd = b.point("logical_and", is_whole, b.point("ne", b.point("floor", half), half))
    of_negative = b.select(is_odd, b.point("neg", size), b.select(is_whole, size, math.nan))
    result = b.select(b.point("lt", base, 0.0), of_negative, size)
    result = b.select(b.point("eq", exponent, 0.0), 1.0, result)
    if x.dtype not in INTEGERS:
        return result
    return b.cast(b.select(is_whole, round_half_even(b, result), result), "i32")


def whole_power(b: Builder, x: Value, y: Value) -> Value:
    """By squares; exact up to where the type wraps around. The bits of exponents below 32, or below 64."""
    result: Any = 1
    left, square = y, x
    for _ in range(6 if b.wide else 5):
        half = b.floor_div(left, 2)
        is_odd = b.point("ne", b.mul(half, 2), left)
        result = b.mul(b.select(is_odd, square, 1), result)
        left, square = half, b.mul(square, square)
    return result
