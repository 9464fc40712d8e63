"""Sizes of PyTorch's symbolic shapes, which are expressions of sympy, as those of the builder."""

from __future__ import annotations

import math
from typing import Any, Callable, Iterable, Mapping, Union

import sympy
import torch
from torch.utils._sympy.value_ranges import ValueRanges

from ..builder.sizes import Dim, Ranges, Shape, Size, ceil_div, floor_div, product
from ..errors import Error


def expression(size: Any) -> Union[int, sympy.Expr]:
    """A SymInt's expression; numbers stay numbers."""
    found = sympy.sympify(size.node.expr if isinstance(size, torch.SymInt) else size)
    return int(found) if found.is_Integer else found


class Sizes:
    """The sizes of one program, with the names of the symbols and what is known of their ranges."""

    def __init__(
        self,
        names: Mapping[sympy.Symbol, Any],
        ranges: Mapping[sympy.Symbol, ValueRanges],
        products: Mapping[str, int],
    ) -> None:
        """`products`: bounds of products, such as "B*T"."""
        self.names = dict(names)
        known = {(str(names.get(s, s)),): (_end(r.lower), _end(r.upper)) for s, r in ranges.items()}
        self.ranges = Ranges(known | {tuple(name.split("*")): (0, bound) for name, bound in products.items()})
        self.refused: dict[str, str] = {}
        """What the text form has no size for, which is an Error where it is written, and why."""

    def of(self, size: Any) -> Size:
        """The size of a SymInt or an expression."""
        if isinstance(size, Dim) or isinstance(expression(size), int):
            return size if isinstance(size, Dim) else expression(size)
        size = expression(size)
        try:
            return _FORMS.get(type(size).__name__, _refused)(self, size)
        except Error as error:
            self.refused[str(size)] = str(error)
            if (str(size),) not in self.ranges:
                self.ranges.set((str(size),), -math.inf, math.inf)
            return Dim.symbol(str(size))

    def shape(self, sizes: Iterable[Any]) -> Shape:
        return tuple(map(self.of, sizes))

    def check(self, *sizes: Size) -> None:
        """Throws Error for a size that the text form does not have."""
        for symbol in (symbol for size in sizes for symbol in self.ranges.symbols(size)):
            if (extreme := self.ranges.extreme_of(symbol)) is not None:
                raise Error(
                    f"the size {symbol}: which is {'larger' if extreme[0] == 'max' else 'smaller'} depends on the sizes, "
                    "and a plan's shapes do not: bound them such that it is always the same one, above by max= or below "
                    "by torch.export.Dim(name, min=...)"
                )
            if symbol in self.refused:
                raise Error(self.refused[symbol])

    # ---- one function a kind of expression

    def _symbol(self, size: sympy.Symbol) -> Size:
        if size not in self.names:
            read = "a number that the code reads from a tensor (item())"
            what = f"the size {size}" if size.is_integer else read
            raise Error(f"{what} depends on the data: it is no dim of an input, nor computed of such dims")
        name = self.names[size]
        return Dim.symbol(name) if isinstance(name, str) else self.of(name)

    def _polynomial(self, size: sympy.Expr) -> Size:
        """Fractions are exact: PyTorch has checked that it divides."""
        factors = [term.as_coeff_Mul()[0] for term in sympy.Add.make_args(size)]
        divisor = math.lcm(*(int(factor.q) for factor in factors if factor.is_Rational))
        if divisor != 1:
            return floor_div(self.of(sympy.expand(divisor * size)), divisor)
        parts = [self.of(part) for part in size.args]
        return sum(parts, 0) if size.is_Add else product(parts)

    def _power(self, size: sympy.Expr) -> Size:
        base, exponent = size.args
        if not exponent.is_Integer or exponent < 0:
            raise Error(f"the size {size} is no polynomial")
        return product([self.of(base)] * int(exponent))

    def _quotient(self, size: sympy.Expr) -> Size:
        a, b = size.args
        exact = a if b.is_Integer else sympy.cancel(a / b)
        if not b.is_Integer and exact.is_polynomial(*exact.free_symbols):
            return self.of(exact)
        return floor_div(self.of(a), self._divisor(size))

    def _remainder(self, size: sympy.Expr) -> Size:
        a, b = self.of(size.args[0]), self._divisor(size)
        return a - b * floor_div(a, b)

    @staticmethod
    def _divisor(size: sympy.Expr) -> int:
        if not size.args[1].is_Integer or size.args[1] <= 0:
            raise Error(f"the size {size}: a size is divided by numbers alone")
        return int(size.args[1])

    def _extreme(self, size: sympy.Expr) -> Size:
        return self.ranges.extreme(type(size).__name__.lower(), map(self.of, size.args))


def _refused(sizes: Sizes, size: sympy.Expr) -> Size:
    raise Error(f"the size {size}: Smelt has no {type(size).__name__} in sizes; sizes are sums of products of symbols, "
                "and quotients by numbers")


def _end(bound: sympy.Expr) -> float:
    return int(bound) if bound.is_Integer else math.inf if bound > 0 else -math.inf


_FORMS: dict[str, Callable[[Sizes, Any], Size]] = {
    **dict.fromkeys(("Add", "Mul"), Sizes._polynomial),
    **dict.fromkeys(("Pow", "PowByNatural"), Sizes._power),
    **dict.fromkeys(("FloorDiv", "CleanDiv"), Sizes._quotient),
    **dict.fromkeys(("Mod", "PythonMod"), Sizes._remainder),
    **dict.fromkeys(("Max", "Min"), Sizes._extreme),
    **dict.fromkeys(("CeilToInt", "TruncToInt", "Identity"), lambda sizes, size: sizes.of(size.args[0])),
    "CeilDiv": lambda sizes, size: ceil_div(sizes.of(size.args[0]), sizes._divisor(size)),
    "Symbol": Sizes._symbol,
}
