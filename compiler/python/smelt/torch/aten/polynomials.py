"""Polynomials, and functions that are odd or even, for rows that approximate a function."""

from __future__ import annotations

from typing import Callable, Sequence

from ...builder import Value


def horner(w, x: Value, coefficients: Sequence[float]) -> Value:
    """coefficients[0] + coefficients[1] x + ... in Horner's form."""
    total = w.constant(float(coefficients[-1]), "f32", x.shape)
    for c in reversed(coefficients[:-1]):
        total = w.add(w.mul(total, x), float(c))
    return total


def magnitude(w, x: Value) -> Value:
    """|x|, whose derivative at 0 is 1."""
    return w.select(w.point("lt", x, 0.0), w.point("neg", x), x)


def odd(w, x: Value, half: Callable[[Value], Value]) -> Value:
    """The odd function that is `half` of numbers that are not negative."""
    result = half(magnitude(w, x))
    return w.select(w.point("lt", x, 0.0), w.point("neg", result), result)


def chosen(w, x: Value, inside: Value, f: Callable[[Value], Value], other: Value, safe: float = 0.0) -> Value:
    """f(x) where `inside` is true, and `other` elsewhere. Outside f is given `safe`, so that its derivative there is
    finite and takes no part in the gradient."""
    return w.select(inside, f(w.select(inside, x, float(safe))), other)
