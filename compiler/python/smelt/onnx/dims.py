"""Sizes: whole numbers, or polynomials over symbols such as 2*B*T + 1."""

from __future__ import annotations

import math
from typing import Any, Iterable, Mapping, Optional, Union

Size = Union[int, "Dim"]
Terms = dict[tuple[str, ...], int]


class Dim:
    """A sum of products of symbols. Arithmetic gives a whole number wherever no symbol is left."""

    __slots__ = ("terms",)

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    @staticmethod
    def symbol(name: str) -> Dim:
        return Dim({(name,): 1})

    def __add__(self, other: Any) -> Size:
        total = dict(self.terms)
        for atoms, factor in terms_of(other).items():
            total[atoms] = total.get(atoms, 0) + factor
        return simplified(total)

    def __mul__(self, other: Any) -> Size:
        total: Terms = {}
        for left, a in self.terms.items():
            for right, b in terms_of(other).items():
                atoms = tuple(sorted(left + right))
                total[atoms] = total.get(atoms, 0) + a * b
        return simplified(total)

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Any) -> Size:
        return self + (-other)

    def __rsub__(self, other: Any) -> Size:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def divide(self, divisor: Size) -> Size:
        """The quotient by a number or by one product of symbols; None where it is no polynomial."""
        (atoms, factor), *rest = terms_of(divisor).items()
        if rest:
            return 1 if self == divisor else None
        total: Terms = {}
        for own, a in self.terms.items():
            left = list(own)
            if a % factor or not all(atom in left and not left.remove(atom) for atom in atoms):
                return None
            total[tuple(left)] = a // factor
        return simplified(total)

    def __floordiv__(self, divisor: Any) -> Size:
        quotient = self.divide(divisor)
        if quotient is None:
            raise ValueError(f"{self} is not known to be a multiple of {divisor}")
        return quotient

    __truediv__ = __floordiv__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __str__(self) -> str:
        parts = ["*".join(([str(a)] if a != 1 or not atoms else []) + list(atoms)) for atoms, a in self.terms.items()]
        return " + ".join(parts).replace("+ -", "- ")

    __repr__ = __str__


def terms_of(size: Any) -> Terms:
    if isinstance(size, Dim):
        return size.terms
    return {(): int(size)} if int(size) else {}


def simplified(terms: Terms) -> Size:
    left = {atoms: factor for atoms, factor in sorted(terms.items()) if factor}
    if not left:
        return 0
    return left[()] if set(left) == {()} else Dim(left)


def product(sizes: Iterable[Size]) -> Size:
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def is_known(size: Size) -> bool:
    return not isinstance(size, Dim)


def least(size: Size) -> float:
    """A bound that no run is below, as symbols are at least 1; minus infinity where products are subtracted."""
    terms = terms_of(size)
    if any(factor < 0 for atoms, factor in terms.items() if atoms):
        return -math.inf
    return sum(terms.values())


def most(size: Size, bounds: Mapping[str, int]) -> Optional[int]:
    """A bound that no run is above, given those of the symbols; None where one has none."""
    total = 0
    for atoms, factor in terms_of(size).items():
        if any(atom not in bounds for atom in atoms):
            return None
        total += factor * math.prod(bounds[atom] if factor > 0 else 1 for atom in atoms)
    return total


def quotient(size: Size, divisor: Size) -> Size:
    """None where it does not divide, or is not known to."""
    if isinstance(size, Dim) or isinstance(divisor, Dim):
        return (size if isinstance(size, Dim) else Dim(terms_of(size))).divide(divisor) if size != 0 else 0
    return size // divisor if divisor and size % divisor == 0 else None
