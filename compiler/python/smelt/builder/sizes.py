"""Sizes: whole numbers, or polynomials over symbols and quotients such as 2*B*T + ceil_div(T, 2).

The form of a size is that of runtime/base/dim.h: sizes are equal here where they are equal to the compiler.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Union

from ..errors import Error

Size = Union[int, "Dim"]
Shape = tuple
Atom = Union[str, "Rounded", "Extreme"]
Terms = dict[tuple[Atom, ...], Any]
Ranges = Mapping[tuple[str, ...], tuple[float, float]]
"""The least and the largest value of symbols, ("T",), and of their products, ("B", "T"); symbols are at least 1."""


class Dim:
    """A sum of products of atoms. Arithmetic gives a whole number wherever no atom is left."""

    __slots__ = ("terms",)

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    @staticmethod
    def symbol(name: Atom) -> Dim:
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
                atoms = tuple(sorted(left + right, key=str))
                total[atoms] = total.get(atoms, 0) + a * b
        return simplified(total)

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Any) -> Size:
        return self + (-other)

    def __rsub__(self, other: Any) -> Size:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, divisor: Any) -> Size:
        found = quotient(self, divisor)
        if found is None:
            raise ValueError(f"{self} is not known to be a multiple of {divisor}")
        return found

    __truediv__ = __floordiv__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __str__(self) -> str:
        return " + ".join(map(_term_text, self.terms.items())).replace("+ -", "- ")

    __repr__ = __str__


def _term_text(term: tuple[tuple[Atom, ...], Any]) -> str:
    atoms, factor = term
    sign, number = ("-" if factor < 0 else ""), abs(factor)
    return sign + "*".join(([str(number)] if number != 1 or not atoms else []) + [*map(str, atoms)])


class Rounded(NamedTuple):
    """The quotient of a size by a number, rounded up."""

    inner: Dim
    divisor: int

    def __str__(self) -> str:
        return f"ceil_div({self.inner}, {self.divisor})"


class Extreme(NamedTuple):
    """The largest ("max") or the least ("min") of sizes; the text form has none, and so it has to be settled before."""

    kind: str
    sizes: tuple

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.sizes))})"


def terms_of(size: Any) -> Terms:
    if isinstance(size, Dim):
        return size.terms
    number = size if isinstance(size, Fraction) else int(size)
    return {(): number} if number else {}


def simplified(terms: Terms) -> Size:
    order = sorted(terms, key=lambda atoms: (-len(atoms), *map(str, atoms)))
    left = {atoms: terms[atoms] for atoms in order if terms[atoms]}
    if not left:
        return 0
    return left[()] if set(left) == {()} else Dim(left)


def is_known(size: Size) -> bool:
    return not isinstance(size, Dim)


def product(sizes: Iterable[Size]) -> Size:
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def quotient(size: Size, divisor: Size) -> Optional[Size]:
    """The exact quotient by a number or by one product; None where it is no polynomial, or not known to be one."""
    if size == divisor and size != 0:
        return 1
    if divisor == 0 or len(terms_of(divisor)) > 1:
        return None
    ((atoms, factor),) = terms_of(divisor).items()
    total: Terms = {}
    for own, a in terms_of(size).items():
        left = list(own)
        if a % factor or not all(atom in left and not left.remove(atom) for atom in atoms):
            return None
        total[tuple(left)] = a // factor
    return simplified(total)


# ---- quotients that are rounded


def ceil_div(size: Size, divisor: int) -> Size:
    """size / divisor, rounded up. Whole parts are taken out, as ceil((n x + y) / n) = x + ceil(y / n), and common factors
    of the rest are divided out."""
    whole, rest = {}, {}
    for atoms, factor in terms_of(size).items():
        left = factor % divisor if atoms else -(-factor % divisor)
        taken = 0 if left and atoms else (factor - left) // divisor
        whole[atoms], rest[atoms] = taken, factor - taken * divisor
    common = math.gcd(divisor, *rest.values())
    return _rounded(simplified({atoms: factor // common for atoms, factor in rest.items()}), divisor // common) + (
        simplified(whole)
    )


def _rounded(inner: Size, divisor: int) -> Size:
    if is_known(inner) or divisor == 1:
        return -(-inner // divisor) if divisor != 1 else inner
    if all(factor < 0 for atoms, factor in inner.terms.items() if atoms):
        return -floor_div(-inner, divisor)
    atoms, factor = next((each for each in inner.terms.items() if each[0]))
    is_nested = len(inner.terms) - (() in inner.terms) == 1 and factor == 1 and len(atoms) == 1
    if is_nested and isinstance(atoms[0], Rounded):  # ceil((ceil(x / a) + c) / b) = ceil((x + a c) / (a b))
        own = atoms[0]
        return ceil_div(own.inner + inner.terms.get((), 0) * own.divisor, divisor * own.divisor)
    return Dim.symbol(Rounded(inner, divisor))


def floor_div(size: Size, divisor: Size) -> Size:
    if is_known(divisor):
        return ceil_div(size - (divisor - 1), divisor)
    exact = quotient(size, divisor)
    if exact is None:
        raise Error(f"the size {size} // {divisor}: a size is divided by numbers alone")
    return exact


# ---- what is known of sizes


def atoms_of(size: Size) -> Iterator[Atom]:
    """Its atoms, and those of its quotients and extremes."""
    for atom in (atom for atoms in terms_of(size) for atom in atoms):
        yield atom
        for inner in (atom.inner,) if isinstance(atom, Rounded) else getattr(atom, "sizes", ()):
            yield from atoms_of(inner)


def value_of(size: Size, values: Mapping[str, int]) -> int:
    """The size where the symbols have these values."""

    def number(atom: Atom) -> int:
        if isinstance(atom, Rounded):
            return -(-value_of(atom.inner, values) // atom.divisor)
        if isinstance(atom, Extreme):
            return {"max": max, "min": min}[atom.kind](value_of(each, values) for each in atom.sizes)
        return values[atom]

    return sum(factor * math.prod(map(number, atoms)) for atoms, factor in terms_of(size).items())


def bounds(size: Size, ranges: Ranges = {}) -> tuple[float, float]:
    """Bounds that no run is below, or above."""
    low: float = 0
    high: float = 0
    for atoms, factor in terms_of(size).items():
        least, most = (1, 1)
        for atom in atoms:
            least, most = _times((least, most), _bounds_of(atom, ranges))
        if atoms in ranges:
            least, most = max(least, ranges[atoms][0]), min(most, ranges[atoms][1])
        least, most = _times((least, most), (factor, factor))
        low, high = low + least, high + most
    return low, high


def _times(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    corners = [x * y if x and y else 0 for x in a for y in b]
    return min(corners), max(corners)


def _bounds_of(atom: Atom, ranges: Ranges) -> tuple[float, float]:
    if isinstance(atom, Rounded):
        low, high = bounds(atom.inner, ranges)
        return tuple(x if math.isinf(x) else -(-x // atom.divisor) for x in (low, high))
    if isinstance(atom, Extreme):
        found = [bounds(each, ranges) for each in atom.sizes]
        return tuple({"max": max, "min": min}[atom.kind](ends) for ends in zip(*found))
    return ranges.get((atom,), (1, math.inf))


def most(size: Size, ranges: Ranges) -> Optional[int]:
    """A bound that no run is above; None where there is none."""
    high = bounds(size, ranges)[1]
    return None if math.isinf(high) else math.floor(high)


def is_natural(size: Size, ranges: Ranges) -> bool:
    """Whether the size is known to be at least 0."""
    return bounds(size, ranges)[0] >= 0 or _least_of_quotients(size, ranges) > -1  # it is a whole number


def _least_of_quotients(size: Size, ranges: Ranges) -> float:
    """A lower bound by x / n <= ceil(x / n) <= (x + n - 1) / n, which is exact enough to order T // 2 and T."""
    total: Size = 0
    for atoms, factor in terms_of(size).items():
        rounded = next((atom for atom in atoms if isinstance(atom, Rounded)), None)
        if rounded is None:
            total = Dim({atoms: factor}) + total
            continue
        rest = list(atoms)
        rest.remove(rounded)
        if any(_bounds_of(atom, ranges)[0] < 0 for atom in rest):
            return -math.inf
        bound = rounded.inner if factor > 0 else rounded.inner + (rounded.divisor - 1)
        total = Dim({tuple(rest): Fraction(factor, rounded.divisor)}) * bound + total
    if any(isinstance(atom, Rounded) for atoms in terms_of(total) for atom in atoms):
        return _least_of_quotients(total, ranges)
    return bounds(total, ranges)[0]


def extreme(kind: str, sizes: Iterable[Size], ranges: Ranges) -> Size:
    """The largest ("max") or the least ("min") of sizes: one of them where that is known."""
    sizes = tuple(sizes)
    for a in sizes:
        if all(is_natural(a - b if kind == "max" else b - a, ranges) for b in sizes):
            return a
    return Dim.symbol(Extreme(kind, sizes))


def extreme_of(size: Dim) -> Optional[Extreme]:
    """What the size is, where it is the largest or the least of others, and nothing besides."""
    atom = next(atoms_of(size))
    return atom if isinstance(atom, Extreme) and size == Dim.symbol(atom) else None


# ---- shapes


def is_empty(shape: Iterable[Size]) -> bool:
    return any(is_known(size) and size == 0 for size in shape)


def broadcast_size(a: Size, b: Size) -> Size:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if is_known(a) != is_known(b):
        raise Error(f"sizes {a} and {b} side by side, one known only when it runs; give it a fixed size")
    raise Error(f"sizes {a} and {b} side by side, which do not broadcast")


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that all of them spread to, as NumPy has it: dims line up at the end."""
    result: list = []
    for shape in shapes:
        result = [1] * (len(shape) - len(result)) + result
        padded = [1] * (len(result) - len(shape)) + list(shape)
        result = [broadcast_size(a, b) for a, b in zip(result, padded)]
    return tuple(result)
