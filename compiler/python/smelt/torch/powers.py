"""Powers and roots, of which PyTorch has derivatives where their parts have none."""

from __future__ import annotations

import math

from ..builder import Number, Value

_ROOTS = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}


def root(w, x: Value) -> Value:
    """The square root that is left of a sum of squares: its derivative at 0 counts as 0, as PyTorch has it of norms
    and deviations."""
    y = w.point("sqrt", x)
    return w.with_slopes(y, (x, w.select(w.point("eq", y, 0.0), 0.0, w.div(0.5, y))))


def power(w, x: Value, exponent: Number) -> Value:
    """x ** exponent, with the derivative exponent * x ** (exponent - 1) also where x is 0."""
    y = _power_alone(w, x, exponent)
    is_plain = 0 <= exponent <= 16 and float(exponent) == int(exponent)
    if x.dtype != "f32" or is_plain or exponent in _ROOTS or not x.grad:
        return y
    return w.with_slopes(y, (x, w.mul(_power_alone(w, x, exponent - 1), float(exponent))))


def _power_alone(w, x: Value, exponent: Number) -> Value:
    """By multiplications and roots where that gives it."""
    if float(exponent) == int(exponent) and 0 <= exponent <= (16 if x.dtype == "f32" else math.inf):
        return _whole_power(w, x, int(exponent))
    if x.dtype == "f32" and exponent in _ROOTS:
        return w.point(_ROOTS[exponent], x)
    if float(exponent) == int(exponent) and exponent < 0:
        return w.point("reciprocal", _power_alone(w, x, -exponent))
    if float(exponent) * 2 == int(exponent * 2) and exponent > 0:
        return w.mul(_power_alone(w, x, int(exponent)), w.point("sqrt", x))
    return w.point("exp", w.mul(w.point("log", x), float(exponent)))


def _whole_power(w, x: Value, exponent: int) -> Value:
    if exponent == 0:
        return w.constant(1, x.dtype, x.shape)
    result, square = None, x
    while True:
        if exponent & 1:
            result = square if result is None else w.mul(result, square)
        exponent >>= 1
        if exponent == 0:
            return result
        square = w.mul(square, square)
