"""Integers: remainders, shifts and bits."""

from __future__ import annotations

from ...builder.sizes import broadcast_shapes
from ...remainders import fmod_of, remainder_of_floats
from ..rows import row


@row("Mod")
def mod(n, x, y):
    return remainder(n.b, x, y, n.attribute("fmod", 0))


def remainder(b, x, y, truncates):
    """With the sign of x where the quotient is truncated, else with that of y."""
    if x.dtype != "f32":
        return b.remainder(x, y, not truncates)
    shape = broadcast_shapes(x.shape, y.shape)
    whole = fmod_of if truncates else remainder_of_floats
    return whole(b, b.spread(x, shape), b.spread(y, shape))


def power_of_two(b, y):
    """2^y of y from 0 to 31, or to 63: the square for each bit of y."""
    result, left = 1, y
    for square in (2, 4, 16, 256, 65536, 2**32)[: 6 if b.wide else 5]:
        half = b.div(left, 2)
        is_odd = b.point("ne", b.mul(half, 2), left)
        result = b.mul(b.select(is_odd, square, 1), result)
        left = half
    return result


@row("BitShift")
def bit_shift(n, x, y):
    b = n.b
    bits = width_of(n)
    is_far = b.point("logical_or", b.point("lt", y, 0), b.point("ge", y, bits))
    near = b.select(is_far, 0, y)
    if n.attribute("direction") == "LEFT":
        return b.select(is_far, 0, b.mul(x, power_of_two(b, near)))
    # 2^31, or 2^63, does not fit: two halves of the way.
    half = b.div(near, 2)
    once = b.floor_div(x, power_of_two(b, half))
    twice = b.floor_div(once, power_of_two(b, b.sub(near, half)))
    filled = 0 if n.element(0).is_unsigned else b.select(b.point("lt", x, 0), -1, 0)
    return b.select(is_far, filled, twice)


def width_of(n):
    """The bits that the integers of an operator have."""
    return min(n.element(0).bits, 64 if n.b.wide else 32)


def bit(b, x, place, sign):
    """0 or 1. Bit `sign` is the sign, if there is one."""
    if place == sign:
        return b.cast(b.point("lt", x, 0), "i32")
    low = b.floor_div(x, 2**place)
    return b.sub(low, b.mul(b.floor_div(low, 2), 2))


BITS = {
    "BitwiseAnd": lambda b, x, y: b.mul(x, y),
    "BitwiseOr": lambda b, x, y: b.point("max", x, y),
    "BitwiseXor": lambda b, x, y: b.cast(b.point("ne", x, y), "i32"),
}


@row(*BITS)
def bitwise(n, x, y):
    b = n.b
    total = None
    count = width_of(n)
    if x.dtype != "i64" and y.dtype != "i64":
        count = min(count, 32)  # the bits above are those of the sign
    sign = None if n.element(0).name == "UINT32" else 63 if count == 64 else 31
    for place in range(count):
        one = BITS[n.node.op_type](b, bit(b, x, place, sign), bit(b, y, place, sign))
        term = b.mul(one, -(2**place) if place == sign else 2**place)
        total = term if total is None else b.add(total, term)
    return total


@row("BitwiseNot")
def bitwise_not(n, x):
    return n.b.sub(-1, x)
