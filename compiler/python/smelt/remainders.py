"""Remainders of floats, which are exact: of 1e9 by 7 as of 1 by 0.1.

A quotient of floats has up to 277 bits, so that it cannot be multiplied and subtracted. |a| and |b| are whole numbers of
24 bits times powers of two; the remainder is found from those, 32 bits of the quotient at a time. `w` writes nodes, of
values of one shape.
"""

from __future__ import annotations

import math
from typing import Any

STEPS = (64, 64, 32, 16, 8, 4, 2, 1)
"""Powers of two that together make any float as large as is needed."""
ROUNDS, BITS = 8, 32
"""Further rounds after the first one, and bits of the quotient in each: 2^24 times 2^32 fits 64 bits."""


def fmod_of(w, a: Any, b: Any) -> Any:
    """a - trunc(a / b) b, with the sign of a. The values have no derivative."""
    large, small = w.point("abs", a), w.point("abs", b)
    is_number = w.both(w.point("lt", large, math.inf), w.both(w.point("gt", small, 0.0), w.point("eq", b, b)))
    divides = w.both(is_number, w.point("ge", large, small))
    rest = _rest(w, w.select(divides, large, 1.0), w.select(divides, small, 1.0))
    signed = w.select(w.point("lt", a, 0.0), w.point("neg", rest), rest)
    return w.select(is_number, w.select(divides, signed, a), math.nan)


def _rest(w, a: Any, b: Any) -> Any:
    """Of finite a >= b > 0."""
    (m, e), (divisor, unit) = _mantissa(w, a), _mantissa(w, b)
    shift = w.sub(e, unit)
    rounds = w.point("floor", w.mul(shift, 1 / BITS))
    first = _power_of_two(w, w.sub(shift, w.mul(rounds, float(BITS))))
    divisor = _wide(w, divisor)
    rest = _modulo(w, _product(w, _wide(w, m), _wide(w, first)), divisor)
    more = w.constant(2**BITS, "i64", a.shape)
    for i in range(ROUNDS):
        next_rest = _modulo(w, _product(w, rest, more), divisor)
        rest = w.node("select", [w.point("gt", rounds, float(i)), next_rest, rest])
    return _scaled(w, w.node("convert", [rest], "f32", a.shape), unit)


def _mantissa(w, x: Any) -> tuple[Any, Any]:
    """m from 2^23 to 2^24 and e, with x = m 2^e."""
    e = w.constant(0.0, "f32", x.shape)
    for step in STEPS:
        low = w.point("lt", x, 2.0 ** (24 - step))
        x, e = w.select(low, w.mul(x, 2.0**step), x), w.select(low, w.sub(e, float(step)), e)
    for step in STEPS[1:]:
        high = w.point("ge", x, 2.0 ** (23 + step))
        x, e = w.select(high, w.mul(x, 2.0**-step), x), w.select(high, w.add(e, float(step)), e)
    return x, e


def _power_of_two(w, e: Any) -> Any:
    """2^e of a whole number from 0 to 31."""
    return _scaled(w, w.constant(1.0, "f32", e.shape), e)


def _scaled(w, x: Any, e: Any) -> Any:
    """x 2^e, where no step on the way is beyond what floats hold."""
    for step in STEPS[1:]:
        up = w.point("ge", e, float(step))
        x, e = w.select(up, w.mul(x, 2.0**step), x), w.select(up, w.sub(e, float(step)), e)
    for step in STEPS:
        down = w.point("le", e, float(-step))
        x, e = w.select(down, w.mul(x, 2.0**-step), x), w.select(down, w.add(e, float(step)), e)
    return x


def _wide(w, x: Any) -> Any:
    return w.node("convert", [x], "i64", x.shape)


def _product(w, a: Any, b: Any) -> Any:
    return w.node("mul", [a, b])


def _modulo(w, a: Any, b: Any) -> Any:
    whole = w.node("div", [a, b])
    return w.node("sub", [a, _product(w, whole, b)])


# ---- what follows from it


def remainder_of_floats(w, a: Any, b: Any) -> Any:
    """a - floor(a / b) b, with the sign of b."""
    rest = fmod_of(w, a, b)
    return w.select(_is_beside(w, rest, b), w.add(rest, b), rest)


def floor_of_floats(w, a: Any, b: Any) -> Any:
    """floor(a / b) of the exact quotient, as PyTorch rounds it."""
    rest = fmod_of(w, a, b)
    quotient = w.div(w.sub(a, rest), b)
    quotient = w.select(_is_beside(w, rest, b), w.sub(quotient, 1.0), quotient)
    whole = w.point("floor", quotient)
    whole = w.select(w.point("gt", w.sub(quotient, whole), 0.5), w.add(whole, 1.0), whole)
    plain = w.div(a, b)
    whole = w.select(w.point("eq", quotient, 0.0), w.mul(plain, 0.0), whole)
    return w.select(w.point("eq", b, 0.0), plain, whole)


def _is_beside(w, rest: Any, b: Any) -> Any:
    """Whether the rest is that of the quotient cut towards 0 where it is below 0."""
    differs = w.point("ne", w.point("lt", rest, 0.0), w.point("lt", b, 0.0))
    return w.both(w.point("ne", rest, 0.0), differs)


def is_exact_divisor(b) -> bool:
    """Whether a / b of any float is exact where it is not cut to 0: a power of two, at least 1."""
    return isinstance(b, (int, float)) and b >= 1 and math.frexp(b)[0] == 0.5
