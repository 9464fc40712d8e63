"""Sizes of PyTorch's symbolic shapes, which are expressions of sympy, as Smelt's text has them."""

from __future__ import annotations

from typing import Mapping, Optional, Union

import sympy
import torch
from torch.utils._sympy import functions
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from ..errors import Error
from .size_bounds import is_at_least_zero

Dim = Union[int, sympy.Expr]
Shape = tuple[Dim, ...]


def expression(size: object) -> Dim:
    """A SymInt's expression; numbers stay numbers."""
    if isinstance(size, torch.SymInt):
        size = size.node.expr
    if isinstance(size, sympy.Expr):
        return int(size) if size.is_Integer else size
    return int(size)


def shape_of(sizes) -> Shape:
    return tuple(expression(size) for size in sizes)


def product(sizes) -> Dim:
    result = sympy.Integer(1)
    for size in sizes:
        result = result * size
    return expression(sympy.expand(result))


def same(a: Dim, b: Dim) -> bool:
    """Whether both are the same size whatever the symbols are."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return a == b or sympy.expand(a - b) == 0


def same_shape(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))


def floor_div(a: Dim, b: int) -> Dim:
    return expression(functions.FloorDiv(sympy.sympify(a), sympy.Integer(b)))


def _is_negated(size: sympy.Expr) -> bool:
    """Whether all terms with symbols are subtracted."""
    terms = [t.as_coeff_Mul()[0] for t in sympy.Add.make_args(sympy.expand(size)) if t.free_symbols]
    return bool(terms) and all(coefficient < 0 for coefficient in terms)


def _is_extreme(size: sympy.Expr) -> bool:
    return type(size).__name__ in ("Max", "Min")


class Sizes:
    """Writes sizes with the names of the symbols and what is known of their ranges."""

    def __init__(
        self,
        names: dict[sympy.Symbol, Union[str, Dim]],
        ranges: dict[sympy.Symbol, ValueRanges],
        products: Mapping[str, int],
    ) -> None:
        self.names = names
        self.ranges = ranges
        self.products = products
        """Bounds of products, such as "B*T"."""

    def text(self, size: Dim) -> str:
        if isinstance(size, int):
            return str(size)
        write = _WRITERS.get(type(size).__name__)
        if write is None:
            raise Error(f"the size {size}: Smelt has no {type(size).__name__} in sizes; sizes are sums of products of "
                        "symbols, and quotients by numbers")
        return write(self, size)

    def shape_text(self, shape: Shape) -> str:
        return "[" + ",".join(self.text(size) for size in shape) + "]"

    def attribute(self, size: Dim) -> str:
        return str(size) if isinstance(size, int) else f"dim({self.text(size)})"

    def not_less(self, a: Dim, b: Dim) -> bool:
        """Whether a >= b for certain."""
        return is_at_least_zero(sympy.sympify(a) - b, self.ranges)

    def most(self, size: Dim) -> Optional[int]:
        """No less than what it can be, where its symbols have bounds."""
        parts = [self._most_of_term(part) for part in sympy.Add.make_args(sympy.expand(sympy.sympify(size)))]
        return None if None in parts else sum(parts)

    def _most_of_term(self, term: sympy.Expr) -> Optional[int]:
        known = {s: r for s, r in self.ranges.items() if s in term.free_symbols}
        uppers = [bound_sympy(term, known).upper]
        coefficient, rest = term.as_coeff_Mul()
        name = sorted(str(self.names.get(factor)) for factor in sympy.Mul.make_args(rest))
        if coefficient > 0:
            uppers += [coefficient * b for product, b in self.products.items() if sorted(product.split("*")) == name]
        return min((int(x) for x in uppers if x.is_Integer), default=None)

    # ---- one writer a kind of expression

    def _symbol(self, size: sympy.Symbol) -> str:
        if size not in self.names:
            read = "a number that the code reads from a tensor (item())"
            what = f"the size {size}" if size.is_integer else read
            raise Error(f"{what} depends on the data: it is no dim of an input, nor computed of such dims")
        name = self.names[size]
        return name if isinstance(name, str) else self.text(name)

    def _sum(self, size: sympy.Expr) -> str:
        return "(" + " + ".join(self.text(expression(term)) for term in size.args) + ")"

    def _product(self, size: sympy.Expr) -> str:
        coefficient, rest = size.as_coeff_Mul()
        if coefficient.is_Rational and coefficient.q != 1:  # exact: PyTorch has checked that it divides
            return self._quotient(expression(coefficient.p * rest), int(coefficient.q))
        return "*".join(self.text(expression(factor)) for factor in size.args)

    def _power(self, size: sympy.Expr) -> str:
        base, exponent = size.args
        if not exponent.is_Integer or exponent < 0:
            raise Error(f"the size {size} is no polynomial")
        return "*".join([self.text(expression(base))] * int(exponent)) if exponent > 0 else "1"

    def _quotient(self, a: Dim, b: int) -> str:
        """a // b; of -a it is that of a, rounded up, with a minus, since what is divided has to be a size."""
        if _is_negated(sympy.sympify(a)):
            return f"-ceil_div({self.text(expression(sympy.expand(-a)))}, {b})"
        return f"floor_div({self.text(a)}, {b})"

    def _floor_div(self, size: sympy.Expr) -> str:
        a, b = (expression(x) for x in size.args)
        if isinstance(b, int) and b > 0:
            return self._quotient(a, b)
        exact = sympy.cancel(sympy.sympify(a) / b)
        if exact.is_polynomial(*exact.free_symbols):
            return self.text(expression(exact))
        raise Error(f"the size {size}: a size is divided by numbers alone")

    def _modulo(self, size: sympy.Expr) -> str:
        a, b = (expression(x) for x in size.args)
        if not isinstance(b, int):
            raise Error(f"the size {size}: a size is divided by numbers alone")
        return f"({self.text(a)} - {b}*{self._quotient(a, b)})"

    def _ceil(self, size: sympy.Expr) -> str:
        a, b = (expression(x) for x in size.args)
        return f"ceil_div({self.text(a)}, {b})"

    def settled(self, size: Dim) -> Dim:
        """The same without a Max or Min whose largest or least argument is known."""
        if isinstance(size, int) or not any(_is_extreme(part) for part in sympy.preorder_traversal(size)):
            return size
        return expression(sympy.expand(size.replace(_is_extreme, self._chosen_or_same)))

    def _chosen_or_same(self, size: sympy.Expr) -> sympy.Expr:
        chosen = self._chosen(size)
        return size if chosen is None else chosen

    def _chosen(self, size: sympy.Expr) -> Optional[sympy.Expr]:
        is_max = type(size).__name__ == "Max"
        arguments = [expression(x) for x in size.args]
        for a in arguments:
            if all(self.not_less(a, b) if is_max else self.not_less(b, a) for b in arguments):
                return sympy.sympify(a)
        return None

    def _extreme(self, size: sympy.Expr) -> str:
        """The one that is known to be the largest, or the least."""
        if (chosen := self._chosen(size)) is not None:
            return self.text(expression(chosen))
        kind = "larger" if type(size).__name__ == "Max" else "smaller"
        names = {s: sympy.Symbol(n) for s, n in self.names.items() if isinstance(n, str) and isinstance(s, sympy.Symbol)}
        raise Error(
            f"the size {size.xreplace(names)}: which is {kind} depends on the sizes, and a plan's shapes do not: bound them "
            "such that it is always the same one, above by max= or below by torch.export.Dim(name, min=...)"
        )

    def _inner(self, size: sympy.Expr) -> str:
        return self.text(expression(size.args[0]))


_WRITERS = {
    "Symbol": Sizes._symbol,
    "Add": Sizes._sum,
    "Mul": Sizes._product,
    "Pow": Sizes._power,
    "PowByNatural": Sizes._power,
    "FloorDiv": Sizes._floor_div,
    "CleanDiv": Sizes._floor_div,
    "Mod": Sizes._modulo,
    "PythonMod": Sizes._modulo,
    "CeilDiv": Sizes._ceil,
    "CeilToInt": Sizes._inner,
    "TruncToInt": Sizes._inner,
    "Identity": Sizes._inner,
    "Max": Sizes._extreme,
    "Min": Sizes._extreme,
}
