"""Least values of sizes, exact enough to order T // 2 and T."""

from __future__ import annotations

from typing import Mapping, Optional

import sympy
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

QUOTIENTS = ("FloorDiv", "CleanDiv", "CeilDiv")
REMAINDERS = ("Mod", "PythonMod")
MOST_ROUNDS = 8
"""How deep quotients of quotients are bounded."""


def is_at_least_zero(size: sympy.Expr, ranges: Mapping[sympy.Symbol, ValueRanges]) -> bool:
    """Whether the size is at least 0 for all values of its symbols, as far as bounds of its terms show."""
    size = sympy.expand(size)
    if size.is_Integer:
        return bool(size >= 0)
    return _by_intervals(size, ranges) or _without_quotients(size, ranges)


def _by_intervals(size: sympy.Expr, ranges: Mapping[sympy.Symbol, ValueRanges]) -> bool:
    known = {s: r for s, r in ranges.items() if s in size.free_symbols}
    try:
        return bool(bound_sympy(size, known).lower >= 0)
    except Exception:  # an expression that PyTorch cannot bound
        return False


def _without_quotients(size: sympy.Expr, ranges: Mapping[sympy.Symbol, ValueRanges]) -> bool:
    """a // n is between (a - n + 1) / n and a / n: T - T // 2 >= T - T / 2 = T / 2."""
    for _ in range(MOST_ROUNDS):
        if not any(_is_rounded(part) for part in sympy.preorder_traversal(size)):
            least = _least_of_polynomial(size, ranges)
            return least is not None and least > -1  # a size is a whole number
        terms = [_bounded(term, ranges) for term in sympy.Add.make_args(size)]
        if any(term is None for term in terms):
            return False
        size = sympy.expand(sum(terms, sympy.Integer(0)))
    return False


def _is_rounded(part: sympy.Expr) -> bool:
    return type(part).__name__ in QUOTIENTS + REMAINDERS


def _bounded(term: sympy.Expr, ranges: Mapping[sympy.Symbol, ValueRanges]) -> Optional[sympy.Expr]:
    """A lower bound of one term with one quotient or remainder less; the other factors are at least 0."""
    coefficient, rest = term.as_coeff_Mul()
    factors = list(sympy.Mul.make_args(rest))
    rounded = [factor for factor in factors if _is_rounded(factor)]
    if not rounded:
        return term
    factors.remove(rounded[0])
    if len(rounded) > 1 or not all(_is_natural(factor, ranges) for factor in factors):
        return None
    bound = _bound_of(rounded[0], below=bool(coefficient > 0))
    return None if bound is None else coefficient * sympy.Mul(*factors) * bound


def _is_natural(factor: sympy.Expr, ranges: Mapping[sympy.Symbol, ValueRanges]) -> bool:
    return factor == 1 or (factor in ranges and bool(ranges[factor].lower >= 0))


def _bound_of(rounded: sympy.Expr, below: bool) -> Optional[sympy.Expr]:
    a, n = rounded.args[:2]
    if not n.is_Integer or n <= 0:
        return None
    kind = type(rounded).__name__
    if kind in REMAINDERS:
        return sympy.Integer(0) if below else n - 1
    if kind == "CeilDiv":
        return a / n if below else (a + n - 1) / n
    return (a - n + 1) / n if below else a / n


def _least_of_polynomial(size: sympy.Expr, ranges: Mapping[sympy.Symbol, ValueRanges]) -> Optional[sympy.Expr]:
    """Of terms whose symbols are at least 0: each takes its own least value."""
    total = sympy.Integer(0)
    for term in sympy.Add.make_args(size):
        coefficient, rest = term.as_coeff_Mul()
        for base, exponent in (factor.as_base_exp() for factor in sympy.Mul.make_args(rest)):
            if base.is_Integer:
                continue
            if base not in ranges or not exponent.is_Integer or exponent < 0 or ranges[base].lower < 0:
                return None
            bound = ranges[base].lower if coefficient > 0 else ranges[base].upper
            coefficient = coefficient * bound**exponent
        total = total + coefficient
    return total if total.is_Rational else None
