"""Gamma, error and Bessel functions, by polynomials and series whose errors in f32 are below 1e-6.

A row whose derivative is a known function has that one and not the derivative of its polynomial (`with_slope`).
"""

from __future__ import annotations

import math
from typing import Sequence

from ...builder import Value
from ..registry import refuse, row
from .polynomials import horner, magnitude
from .rounding import round_half_even
from ..powers import power

# Coefficients of Chebyshev polynomials on the intervals that the functions name.
I0_NEAR = (
    0.338397637, -0.304682672, 0.171620902, -0.094901097, 0.0493052842, -0.0237374148, 0.0105464604, -0.00432431,
    0.00163947562, -0.000576375575, 0.000188502885, -5.75419501e-05, 1.64484481e-05, -4.41673836e-06, 1.11738754e-06,
    -2.67079385e-07, 6.04699502e-08, -1.30002501e-08, 2.65982372e-09,
)  # fmt: skip
I0_FAR = (0.402245206, 0.00336911648, 6.88975835e-05, 2.89137052e-06, 2.04891859e-07, 2.26666899e-08, 3.39623203e-09)
I1_NEAR = (
    0.126293593, -0.176416518, 0.102643659, -0.0529459812, 0.024726449, -0.0105640849, 0.00415642294, -0.00151357245,
    0.000512285956, -0.000161760816, 4.78156511e-05, -1.32731637e-05, 3.47025131e-06, -8.56872026e-07, 2.00329475e-07,
    -4.44505913e-08, 9.38153739e-09, -1.88724975e-09,
)  # fmt: skip
I1_FAR = (
    0.389288118, -0.00976109749, -0.000110588939, -3.88256481e-06, -2.51223624e-07, -2.63146885e-08, -3.83538039e-09,
)  # fmt: skip
LGAMMA = (
    0.441489025, -0.111195803, 0.0195104483, -0.00392246146, 0.00084789899, -0.000191538553, 4.45447018e-05,
    -1.05728744e-05, 2.54743369e-06, -6.20853588e-07, 1.52686774e-07, -3.78263766e-08, 9.42810082e-09, -2.3619997e-09,
)  # fmt: skip
ERFCX = (
    0.298101794, 0.429086441, 0.180272566, 0.0652375245, 0.0203672566, 0.00544908707, 0.00122785154, 0.000224697942,
    3.06854311e-05, 2.3178235e-06, -1.46283565e-07, -6.92783052e-08, -6.88311076e-09,
)  # fmt: skip
ERFINV_NEAR = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06,
    3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
ERFINV_FAR = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322, 0.000100950558,
    -0.000200214257,
)  # fmt: skip
"""M. Giles, Approximating the erfinv function (2010): for w = -log(1 - x^2) below 5 in w - 2.5, else in sqrt(w) - 3."""
NDTRI_TAIL = (
    0.465420563, 0.198543036, -0.0154174341, 0.00195612139, -0.000335859523, 6.85829568e-05, -1.5508944e-05,
    3.75327259e-06, -9.54385372e-07, 2.51984655e-07, -6.85064948e-08,
)  # fmt: skip
NDTRI_CENTRE, NDTRI_REACH = 0.17733990, 0.10837438
"""z + ndtri(p) of a small p = exp(-z^2 / 2), z in [3.5, 14.5], as a series in (1 / z - centre) / reach, from values with 40
digits (mpmath)."""


def _unary(*names: str):
    """A row of one operand in f32."""

    def add(function):
        row(*names)(lambda w, out, self: function(w, w.cast(self, "f32")))
        return function

    return add


def with_slope(w, x: Value, value: Value, slope: Value) -> Value:
    """The value, whose derivative by x is `slope`, whatever its parts' are."""
    return w.with_slopes(w.stop(value), (x, w.stop(slope))) if x.grad else value


def chebyshev(w, t: Value, coefficients: Sequence[float]) -> Value:
    """The sum of coefficients times Chebyshev polynomials of t in [-1, 1], by Clenshaw's rule."""
    twice = w.add(t, t)
    after = w.constant(0.0, "f32", t.shape)
    last = w.constant(float(coefficients[-1]), "f32", t.shape)
    for c in reversed(coefficients[1:-1]):
        last, after = w.add(w.sub(w.mul(twice, last), after), float(c)), last
    return w.add(w.sub(w.mul(t, last), after), float(coefficients[0]))


# ---- gamma


def _lgamma_above_half(w, x: Value) -> Value:
    """Stirling's series from 3 on; in [1, 3] a polynomial times (x - 1) (x - 2); below 1 by lgamma(x + 1) - log x."""
    large = w.point("gt", x, 3.0)
    low = w.point("lt", x, 1.0)
    t = w.select(large, 2.0, w.select(low, w.add(x, 1.0), x))
    near = w.mul(w.mul(w.sub(t, 1.0), w.sub(t, 2.0)), chebyshev(w, w.sub(t, 2.0), LGAMMA))
    near = w.sub(near, w.point("log", w.select(low, x, 1.0)))
    y = w.select(large, x, 3.0)
    u = w.point("reciprocal", y)
    tail = w.mul(u, horner(w, w.mul(u, u), (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)))
    log = w.point("log", y)
    huge = w.point("eq", y, math.inf)
    main = w.sub(w.mul(w.sub(w.select(huge, 3.0, y), 0.5), w.sub(log, 1.0)), 0.5 - 0.5 * math.log(2 * math.pi))
    return w.select(large, w.select(huge, y, w.add(main, tail)), near)


def _reflected(w, x: Value) -> tuple[Value, Value]:
    """Whether x is below 1 / 2, and 1 - x there."""
    below = w.point("lt", x, 0.5)
    return below, w.select(below, w.point("sub", 1.0, x), x)


def _turn(w, x: Value) -> Value:
    """pi times the distance of x from the nearest whole number."""
    return w.mul(w.sub(x, round_half_even(w, None, x)), math.pi)


def lgamma_of(w, x: Value) -> Value:
    below, y = _reflected(w, x)
    right = _lgamma_above_half(w, y)
    sine = w.point("abs", w.point("sin", _turn(w, w.select(below, x, 0.25))))
    left = w.sub(w.point("sub", math.log(math.pi), w.point("log", sine)), right)
    value = w.select(below, left, right)
    return w.select(w.point("eq", x, -math.inf), math.inf, value)


@_unary("aten.lgamma.default", "aten.special_gammaln.default")
def lgamma(w, x: Value) -> Value:
    x0 = w.stop(x)
    return with_slope(w, x, lgamma_of(w, x0), digamma_of(w, x0) if x.grad else x0)


def _psi_above_half(w, x: Value, n: int) -> Value:
    """The n-th derivative of digamma: the recurrence up to 6 or more, then the asymptotic series."""
    total = w.constant(0.0, "f32", x.shape)
    for k in range(6):
        total = w.add(total, power(w, w.point("reciprocal", w.add(x, float(k))), n + 1))
    sign, factorial = (-1.0) ** (n + 1), math.factorial(n)
    y = w.add(x, 6.0)
    u = w.point("reciprocal", y)
    if n == 0:
        main = w.sub(w.point("log", y), w.mul(u, 0.5))
        tail = w.mul(w.mul(u, u), horner(w, w.mul(u, u), (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132)))
        return w.sub(w.add(main, tail), total)
    terms = [(math.factorial(n - 1), n), (factorial / 2, n + 1)]
    for k, bernoulli in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66), 1):
        terms.append((bernoulli * math.factorial(2 * k + n - 1) / math.factorial(2 * k), 2 * k + n))
    series = w.mul(total, float(factorial))
    for factor, exponent in terms:
        series = w.add(series, w.mul(power(w, u, exponent), float(factor)))
    return w.mul(series, sign)


def _cotangent_derivative(n: int) -> list[float]:
    """Coefficients of the n-th derivative of the cotangent, a polynomial in it."""
    p = [0.0, 1.0]
    for _ in range(n):
        slope = [i * c for i, c in enumerate(p)][1:]
        p = [0.0] * (len(slope) + 2)
        for i, c in enumerate(slope):
            p[i] -= c
            p[i + 2] -= c
    return p


def psi_of(w, x: Value, n: int) -> Value:
    """The n-th derivative of digamma; below 1 / 2 by the reflection (-1)^n psi(1 - x) - pi (cot pi x)'..."""
    below, y = _reflected(w, x)
    right = _psi_above_half(w, y, n)
    angle = _turn(w, w.select(below, x, 0.25))
    cotangent = w.div(w.point("cos", angle), w.point("sin", angle))
    turned = w.mul(horner(w, cotangent, _cotangent_derivative(n)), math.pi ** (n + 1))
    left = w.sub(w.mul(right, (-1.0) ** n) if n % 2 else right, turned)
    return w.select(below, left, right)


def digamma_of(w, x: Value) -> Value:
    """-inf at 0 and inf at -0; undefined at the whole numbers below."""
    value = psi_of(w, x, 0)
    whole = w.both(w.point("eq", x, w.point("floor", x)), w.point("lt", x, 0.0))
    value = w.select(whole, math.nan, value)
    value = w.select(w.point("eq", x, 0.0), w.point("neg", w.point("reciprocal", x)), value)
    return w.select(w.point("eq", x, math.inf), x, value)


@_unary("aten.digamma.default", "aten.special_digamma.default", "aten.special_psi.default")
def digamma(w, x: Value) -> Value:
    x0 = w.stop(x)
    return with_slope(w, x, digamma_of(w, x0), polygamma_of(w, x0, 1) if x.grad else x0)


def polygamma_of(w, x: Value, n: int) -> Value:
    """The n-th derivative of digamma, infinite at 0 and the whole numbers below; of -inf there is none."""
    whole = w.both(w.point("eq", x, w.point("floor", x)), w.point("gt", x, -math.inf))
    pole = w.both(whole, w.point("le", x, 0.0))
    return w.select(pole, math.inf if n % 2 else -math.inf, psi_of(w, w.select(pole, 0.25, x), n))


@row("aten.polygamma.default", "aten.special_polygamma.default")
def polygamma(w, out, self, n):
    x = w.cast(self, "f32")
    if n == 0:
        return digamma(w, x)
    if n > 10:
        refuse(f"polygamma of order {n}; Smelt has orders up to 10")
    x0 = w.stop(x)
    return with_slope(w, x, polygamma_of(w, x0, n), polygamma_of(w, x0, n + 1) if x.grad else x0)


@_unary("aten.special_entr.default")
def entr(w, x: Value) -> Value:
    """-x log x; 0 at 0 and -inf below. The slope is that of the formula everywhere."""
    log = w.point("log", w.stop(x))
    zero, below = w.point("eq", x, 0.0), w.point("lt", x, 0.0)
    value = w.select(zero, 0.0, w.select(below, -math.inf, w.point("neg", w.mul(w.stop(x), log))))
    return with_slope(w, x, value, w.point("sub", -1.0, log))


# ---- error functions


@_unary("aten.erfinv.default", "aten.special_erfinv.default")
def erfinv(w, x: Value) -> Value:
    x0 = w.stop(x)
    value = erfinv_of(w, x0)
    slope = w.mul(w.point("exp", w.mul(value, value)), math.sqrt(math.pi) / 2)
    return with_slope(w, x, value, slope)


def erfinv_of(w, x: Value) -> Value:
    size = w.point("abs", x)
    inside = w.point("lt", size, 1.0)
    safe = w.select(inside, x, 0.0)
    log = w.point("neg", w.point("log", w.mul(w.point("sub", 1.0, safe), w.add(safe, 1.0))))
    near = horner(w, w.sub(log, 2.5), ERFINV_NEAR)
    far = horner(w, w.sub(w.point("sqrt", w.point("max", log, 0.0)), 3.0), ERFINV_FAR)
    value = w.mul(safe, w.select(w.point("lt", log, 5.0), near, far))
    edge = w.select(w.point("eq", size, 1.0), w.mul(x, math.inf), math.nan)
    return w.select(inside, value, edge)


@_unary("aten.special_ndtri.default")
def ndtri(w, x: Value) -> Value:
    value = ndtri_of(w, w.stop(x))
    slope = w.mul(w.point("exp", w.mul(w.mul(value, value), 0.5)), math.sqrt(2 * math.pi))
    return with_slope(w, x, value, slope)


def ndtri_of(w, p: Value) -> Value:
    """Of the smaller of p and 1 - p, which has all its digits: 2 p - 1 would have lost those of a small p."""
    inside = w.both(w.point("gt", p, 0.0), w.point("lt", p, 1.0))
    safe = w.select(inside, p, 0.5)
    small = w.point("min", safe, w.point("sub", 1.0, safe))
    log = w.point("neg", w.point("log", w.mul(w.mul(small, w.point("sub", 1.0, small)), 4.0)))
    near = w.mul(horner(w, w.sub(log, 2.5), ERFINV_NEAR), w.mul(w.sub(w.mul(safe, 2.0), 1.0), math.sqrt(2)))
    z = w.point("sqrt", w.point("max", w.mul(w.point("log", small), -2.0), 12.25))
    t = w.mul(w.sub(w.point("reciprocal", z), NDTRI_CENTRE), 1 / NDTRI_REACH)
    tail = w.sub(chebyshev(w, t, NDTRI_TAIL), z)
    far = w.select(w.point("lt", safe, 0.5), tail, w.point("neg", tail))
    value = w.select(w.point("lt", log, 5.0), near, far)
    edge = w.select(w.point("eq", p, 0.0), -math.inf, w.mul(p, math.nan))
    edge = w.select(w.point("eq", p, 1.0), math.inf, edge)
    return w.select(inside, value, edge)


def erfcx_above_zero(w, x: Value) -> Value:
    """exp(x^2) erfc(x) of x >= 0, in t = 4 / (x + 4)."""
    t = w.div(w.constant(4.0, "f32", x.shape), w.add(x, 4.0))
    return chebyshev(w, w.sub(w.mul(t, 2.0), 1.0), ERFCX)


@_unary("aten.special_erfcx.default")
def erfcx(w, x: Value) -> Value:
    """Is 2 exp(x^2) - erfcx(-x) below 0. Its derivative is 2 x erfcx(x) - 2 / sqrt(pi)."""
    x0 = w.stop(x)
    right = erfcx_above_zero(w, w.point("abs", x0))
    left = w.sub(w.mul(w.point("exp", w.mul(x0, x0)), 2.0), right)
    value = w.select(w.point("lt", x0, 0.0), left, right)
    return with_slope(w, x, value, w.sub(w.mul(w.mul(x0, value), 2.0), 2 / math.sqrt(math.pi)))


@_unary("aten.special_log_ndtr.default")
def log_ndtr(w, x: Value) -> Value:
    """Is log(erfcx(-x / sqrt 2) / 2) - x^2 / 2 below -1, and log1p(-erfc(x / sqrt 2) / 2) above it."""
    low = w.point("lt", x, -1.0)
    t = w.mul(w.stop(w.select(low, x, -1.0)), -math.sqrt(0.5))
    scaled = erfcx_above_zero(w, t)
    left = w.sub(w.point("log", w.mul(scaled, 0.5)), w.mul(t, t))
    y = w.stop(w.select(low, 0.0, x))
    right = w.point("log", w.mul(w.add(w.point("erf", w.mul(y, math.sqrt(0.5))), 1.0), 0.5))
    tail = erfcx_above_zero(w, w.point("abs", w.mul(y, math.sqrt(0.5))))
    above = w.mul(w.point("exp", w.mul(w.mul(y, y), -0.5)), tail)
    upper = w.point("log1p", w.mul(above, -0.5))
    right = w.select(w.point("gt", y, 0.0), upper, right)
    value = w.select(low, left, right)
    density = w.point("exp", w.sub(w.mul(w.mul(y, y), -0.5), right))
    slope_low = w.div(w.constant(2.0, "f32", x.shape), scaled)
    slope_low = w.select(w.point("eq", x, -math.inf), math.nan, slope_low)  # as PyTorch has it
    slope = w.mul(w.select(low, slope_low, density), 1 / math.sqrt(2 * math.pi))
    return with_slope(w, x, value, slope)


# ---- modified Bessel functions


def _scaled_bessel(w, size: Value, near_table, far_table) -> Value:
    """exp(-x) I(x) of x >= 0: in [0, 8] in x / 4 - 1, above it 1 / sqrt(x) times a series in 16 / x - 1."""
    near = w.point("le", size, 8.0)
    low, high = w.select(near, size, 8.0), w.select(near, 8.0, size)
    small = chebyshev(w, w.sub(w.mul(low, 0.25), 1.0), near_table)
    inverse = w.sub(w.div(w.constant(16.0, "f32", size.shape), high), 1.0)
    large = w.mul(chebyshev(w, inverse, far_table), w.point("rsqrt", high))
    return w.select(near, small, large)


def i0e_of(w, x: Value) -> Value:
    return _scaled_bessel(w, w.point("abs", x), I0_NEAR, I0_FAR)


def i1e_of(w, x: Value) -> Value:
    """The near table is that of I1(x) / x."""
    size = w.point("abs", x)
    near = w.point("le", size, 8.0)
    value = _scaled_bessel(w, size, I1_NEAR, I1_FAR)
    return w.mul(value, w.select(near, x, w.point("sign", x)))


def _grown(w, x: Value, scaled: Value) -> Value:
    """exp(|x|) times it, by two halves: the exponential alone may be infinite before."""
    half = w.point("exp", w.mul(w.point("abs", x), 0.5))
    return w.mul(w.mul(half, scaled), half)


@_unary("aten.i0.default", "aten.special_i0.default", "aten.special_modified_bessel_i0.default")
def i0(w, x: Value) -> Value:
    x0 = w.stop(x)
    return with_slope(w, x, _grown(w, x0, i0e_of(w, x0)), _grown(w, x0, i1e_of(w, x0)))


@_unary("aten.special_i0e.default")
def i0e(w, x: Value) -> Value:
    x0 = w.stop(x)
    value = i0e_of(w, x0)
    return with_slope(w, x, value, w.sub(i1e_of(w, x0), w.mul(w.point("sign", x0), value)))


@_unary("aten.special_i1.default", "aten.special_modified_bessel_i1.default")
def i1(w, x: Value) -> Value:
    """The derivative is I0(x) - I1(x) / x."""
    x0 = w.stop(x)
    scaled = i1e_of(w, x0)
    slope = w.sub(i0e_of(w, x0), _over(w, scaled, x0))
    return with_slope(w, x, _grown(w, x0, scaled), _grown(w, x0, slope))


@_unary("aten.special_i1e.default")
def i1e(w, x: Value) -> Value:
    x0 = w.stop(x)
    value = i1e_of(w, x0)
    slope = w.sub(w.sub(i0e_of(w, x0), _over(w, value, x0)), w.mul(w.point("sign", x0), value))
    return with_slope(w, x, value, slope)


def _over(w, i1_value: Value, x: Value) -> Value:
    """I1(x) / x, which is 1 / 2 at 0."""
    zero = w.point("eq", x, 0.0)
    return w.select(zero, 0.5, w.div(i1_value, w.select(zero, 1.0, x)))


@_unary("aten.special_spherical_bessel_j0.default")
def spherical_bessel_j0(w, x: Value) -> Value:
    """sin(x) / x, near 0 by its series."""
    size = magnitude(w, x)
    near = w.point("lt", size, 0.5)
    square = w.mul(x, x)
    series = horner(w, square, (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880))
    far = w.select(near, 1.0, x)
    return w.select(near, series, w.div(w.point("sin", far), far))
