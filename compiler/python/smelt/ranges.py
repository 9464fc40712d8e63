"""Interval arithmetic on integers: which numbers a result can be, and so whether 32 bits hold it."""

from __future__ import annotations

from typing import Optional, Sequence

Range = tuple[int, int]
"""The least and the largest number, both included."""

LIMITS: dict[str, Range] = {
    "bool": (0, 1),
    "u8": (0, 2**8 - 1),
    "i8": (-(2**7), 2**7 - 1),
    "u16": (0, 2**16 - 1),
    "i16": (-(2**15), 2**15 - 1),
    "i32": (-(2**31), 2**31 - 1),
    "i64": (-(2**63), 2**63 - 1),
}
INTEGERS = ("i32", "i64")
"""The types that integers are computed in."""


def is_exact(number: int) -> bool:
    """Whether a double, which the text's numbers are, holds it."""
    return int(float(number)) == number


def fits(numbers: Optional[Range], dtype: str) -> bool:
    """Whether the type holds all numbers of the range."""
    if numbers is None:
        return False
    least, most = LIMITS[dtype]
    return least <= numbers[0] and numbers[1] <= most


def hull(*ranges: Range) -> Range:
    return min(r[0] for r in ranges), max(r[1] for r in ranges)


def _add(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def _negative(a: Range) -> Range:
    return -a[1], -a[0]


def _sub(a: Range, b: Range) -> Range:
    return _add(a, _negative(b))


def _mul(a: Range, b: Range) -> Range:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _cut(x: int, y: int) -> int:
    """The quotient, towards 0."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _div(a: Range, b: Range) -> Range:
    """x / 0 is x."""
    if b[0] > 0 or b[1] < 0:
        corners = [_cut(x, y) for x in a for y in b]
        return min(corners), max(corners)
    if b[0] == 0:
        return hull(a, (0, 0))
    most = max(abs(a[0]), abs(a[1]))
    return -most, most


def _abs(a: Range) -> Range:
    sizes = sorted((abs(a[0]), abs(a[1])))
    return (0 if a[0] <= 0 <= a[1] else sizes[0]), sizes[1]


def _sign(a: Range) -> Range:
    return (a[0] > 0) - (a[0] < 0), (a[1] > 0) - (a[1] < 0)


_RULES = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": _negative,
    "abs": _abs,
    "sign": _sign,
    "floor": lambda a: a,
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
}


def result_of(operation: str, operands: Sequence[Range]) -> Optional[Range]:
    """The numbers that an operation makes of those of its operands, in as many bits as that takes; of a select's
    operands without its condition."""
    if operation == "select":
        return hull(*operands)
    return _RULES[operation](*operands) if operation in _RULES else None


def sum_of(numbers: Range, count: Optional[int]) -> Optional[Range]:
    """Of up to `count` numbers; None where their number has no bound."""
    return None if count is None else (min(0, count * numbers[0]), max(0, count * numbers[1]))


def remainder_of(a: Range, b: Range, floors: bool) -> Range:
    """Of a by b: with the sign of b where the quotient is rounded down, else with that of a."""
    size = max(abs(b[0]), abs(b[1]), 1) - 1
    low, high = (b if floors else a)
    least = 0 if low >= 0 else -size
    most = 0 if high <= 0 else size
    if a[0] >= 0 and b[0] >= 0:
        most = min(most, a[1])
    return least, most
