"""Inverse trigonometric and hyperbolic functions, composed of those that the IR has.

The polynomials are near-minimax fits on the intervals that are named; relative errors are below 3e-7 in f32.
"""

from __future__ import annotations

import math

from ...builder import Value
from ..registry import row
from .polynomials import chosen, horner, magnitude, odd

ATAN = (1.0, -0.33333332, 0.19999884, -0.14281589, 0.11040489, -0.08456193, 0.04707348)
"""atan(t) / t in t^2, for |t| <= tan(pi / 8)."""
ASIN = (1.0, 0.16666667, 0.07500006, 0.04464056, 0.03042812, 0.02185574, 0.02068133, 0.00191561, 0.03295759)
"""asin(t) / t in t^2, for |t| <= 1 / 2."""
LOG_2 = math.log(2)
HUGE = 1e10
"""A number from which on x^2 + 1 is x^2 in f32."""


def _unary(*names: str):
    """A row of one operand in f32."""

    def add(function):
        row(*names)(lambda w, out, self: function(w, w.cast(self, "f32")))
        return function

    return add


# ---- arctangents


def _atan_to_one(w, t: Value) -> Value:
    """The arctangent of 0 <= t <= 1; from tan(pi / 8) on atan(t) = pi / 4 + atan((t - 1) / (t + 1))."""
    far = w.point("gt", t, math.tan(math.pi / 8))
    small = w.select(far, w.div(w.sub(t, 1.0), w.add(t, 1.0)), t)
    near_zero = w.mul(small, horner(w, w.mul(small, small), ATAN))
    return w.select(far, w.add(near_zero, math.pi / 4), near_zero)


@_unary("aten.atan.default")
def atan(w, x: Value) -> Value:
    """Uses that from 1 on atan(x) = pi / 2 - atan(1 / x)."""

    def half(size: Value) -> Value:
        far = w.point("gt", size, 1.0)
        angle = _atan_to_one(w, w.select(far, w.point("reciprocal", w.select(far, size, 1.0)), size))
        return w.select(far, w.point("sub", math.pi / 2, angle), angle)

    return odd(w, x, half)


@row("aten.atan2.default")
def atan2(w, out, self, other):
    y, x = w.operand(self, "f32", out.shape), w.operand(other, "f32", out.shape)
    rise, run = _sizes(w, y, x)
    steep = w.point("gt", rise, run)
    low, high = w.select(steep, run, rise), w.select(steep, rise, run)
    ratio = w.div(low, w.select(w.point("eq", high, 0.0), 1.0, high))
    angle = _atan_to_one(w, ratio)
    angle = w.select(steep, w.point("sub", math.pi / 2, angle), angle)
    angle = w.select(_is_negative(w, x), w.point("sub", math.pi, angle), angle)
    angle = w.select(_is_negative(w, y), w.point("neg", angle), angle)
    if not y.grad and not x.grad:
        return angle
    square = w.add(w.mul(w.stop(y), w.stop(y)), w.mul(w.stop(x), w.stop(x)))
    per_square = w.select(w.point("eq", square, 0.0), 0.0, w.point("reciprocal", square))
    slopes = w.mul(w.stop(x), per_square), w.mul(w.point("neg", w.stop(y)), per_square)
    return w.with_slopes(w.stop(angle), (y, slopes[0]), (x, slopes[1]))


def _sizes(w, y: Value, x: Value) -> tuple[Value, Value]:
    """|y| and |x|; of two infinities the ratio is 1."""
    rise, run = magnitude(w, y), magnitude(w, x)
    both = w.both(w.point("eq", rise, math.inf), w.point("eq", run, math.inf))
    return w.select(both, 1.0, rise), w.select(both, 1.0, run)


def _is_negative(w, x: Value) -> Value:
    """Whether the sign bit is set: -0 is negative, too."""
    return w.point("lt", w.select(w.point("eq", x, 0.0), w.point("reciprocal", x), x), 0.0)


@row("aten.signbit.default")
def signbit(w, out, self):
    x = w.stop(w.cast(self, "f32"))
    return _is_negative(w, x) if self.dtype == "f32" else w.point("lt", w.cast(self, "i32"), 0)


@row("aten.copysign.Tensor", "aten.copysign.Scalar")
def copysign(w, out, self, other):
    x = w.operand(self, "f32", out.shape)
    sign = w.stop(w.operand(other, "f32", out.shape))
    x0 = w.stop(x)
    differs = w.point("ne", _is_negative(w, x0), _is_negative(w, sign))
    result = w.select(differs, w.point("neg", x0), x0)
    return w.with_slopes(result, (x, w.select(w.point("eq", x0, 0.0), 0.0, w.div(result, x0))))


# ---- arcsines


def _asin_half(w, t: Value) -> Value:
    """The arcsine of |t| <= 1 / 2."""
    return w.mul(t, horner(w, w.mul(t, t), ASIN))


def _asin_of_rest(w, size: Value) -> Value:
    """2 asin(sqrt((1 - size) / 2)), the angle from 1 on, of 1 / 2 < size."""
    root = w.point("sqrt", w.mul(w.point("sub", 1.0, size), 0.5))
    return w.mul(_asin_half(w, root), 2.0)


@_unary("aten.asin.default")
def asin(w, x: Value) -> Value:
    """Uses that from 1 / 2 on asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2))."""

    def half(size: Value) -> Value:
        near = w.point("le", size, 0.5)
        far = _asin_of_rest(w, w.select(near, 0.75, size))
        return chosen(w, size, near, lambda t: _asin_half(w, t), w.point("sub", math.pi / 2, far))

    return odd(w, x, half)


@_unary("aten.acos.default")
def acos(w, x: Value) -> Value:
    """pi / 2 - asin(x), and near 1 and -1 by the square root alone, which loses no digits."""
    size = magnitude(w, x)
    near = w.point("le", size, 0.5)
    far = _asin_of_rest(w, w.select(near, 0.75, size))
    far = w.select(w.point("lt", x, 0.0), w.point("sub", math.pi, far), far)
    return chosen(w, x, near, lambda t: w.point("sub", math.pi / 2, _asin_half(w, t)), far)


# ---- hyperbolic functions


@_unary("aten.sinh.default")
def sinh(w, x: Value) -> Value:
    """Is (e + e / (e + 1)) / 2 for e = exp(|x|) - 1, and exp(|x| - log 2) for large x, infinite only where sinh is."""

    def near_zero(t: Value) -> Value:
        e = w.point("expm1", t)
        return w.mul(w.add(e, w.div(e, w.add(e, 1.0))), 0.5)

    def half(size: Value) -> Value:
        far = w.point("exp", w.sub(size, LOG_2))
        return chosen(w, size, w.point("lt", size, 10.0), near_zero, far)

    return odd(w, x, half)


@_unary("aten.cosh.default")
def cosh(w, x: Value) -> Value:
    """Is t + 1 / (4 t) for t = exp(|x|) / 2."""
    t = w.point("exp", w.sub(w.point("abs", x), LOG_2))
    return w.add(t, w.div(w.constant(0.25, "f32", x.shape), t))


@_unary("aten.asinh.default")
def asinh(w, x: Value) -> Value:
    """log(1 + x + x^2 / (1 + sqrt(x^2 + 1)))."""

    def near(t: Value) -> Value:
        square = w.mul(t, t)
        rest = w.div(square, w.add(w.point("sqrt", w.add(square, 1.0)), 1.0))
        return w.point("log1p", w.add(t, rest))

    def half(size: Value) -> Value:
        inside = w.point("lt", size, HUGE)
        far = w.add(w.point("log", w.select(inside, 1.0, size)), LOG_2)
        return chosen(w, size, inside, near, far)

    return odd(w, x, half)


@_unary("aten.acosh.default")
def acosh(w, x: Value) -> Value:
    """log(1 + t + sqrt(t (t + 2))) of t = x - 1."""

    def near(t: Value) -> Value:
        less = w.sub(t, 1.0)
        return w.point("log1p", w.add(less, w.point("sqrt", w.mul(less, w.add(less, 2.0)))))

    inside = w.point("lt", x, HUGE)
    far = w.add(w.point("log", w.select(inside, 1.0, x)), LOG_2)
    return chosen(w, x, inside, near, far, 2.0)


@_unary("aten.atanh.default")
def atanh(w, x: Value) -> Value:
    """log(1 + 2 x / (1 - x)) / 2."""

    def half(size: Value) -> Value:
        return w.mul(w.point("log1p", w.div(w.mul(size, 2.0), w.point("sub", 1.0, size))), 0.5)

    return odd(w, x, half)


@row("aten.hypot.default")
def hypot(w, out, self, other):
    """The larger size times sqrt(1 + ratio^2), which overflows only where the result does; infinite where either is, even
    beside a NaN. Slopes are quotients with the result, as PyTorch's: NaN at the origin."""
    x, y = (w.operand(v, "f32", out.shape) for v in (self, other))
    a, b = (w.point("abs", w.stop(v)) for v in (x, y))
    high, low = w.point("max", a, b), w.point("min", a, b)
    infinite = w.point("logical_or", *(w.point("eq", v, math.inf) for v in (a, b)))
    some = w.both(w.point("gt", high, 0.0), w.point("lt", high, math.inf))
    ratio = w.div(low, w.select(some, high, 1.0))
    size = w.select(some, w.mul(high, w.point("sqrt", w.add(w.mul(ratio, ratio), 1.0))), high)
    size = w.select(infinite, math.inf, size)
    return w.with_slopes(size, (x, w.div(w.stop(x), size)), (y, w.div(w.stop(y), size)))
