"""What the sizes of a run must fulfil, since export has relied on it: the module's code has taken a branch by them."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

import sympy
import torch

from ..builder.sizes import Dim
from ..errors import Error
from .capture import Captured
from .dims import expression

ARTIFICIAL = 3
"""PyTorch exports for sizes that are neither 0 nor 1, and takes the same of a size less 1: lower bounds up to here, and
that a size is not 0 or 1, say nothing about the module."""


def size_places(captured: Captured, values: Iterable[torch.Tensor]) -> dict[str, tuple[str, int]]:
    """Where each named size is read: the input and its dim."""
    places: dict[str, tuple[str, int]] = {}
    for name, value in zip(captured.inputs, values):
        for axis, size in enumerate(value.shape):
            known = captured.symbols.get(expression(size)) if isinstance(size, torch.SymInt) else None
            if known is not None:
                places.setdefault(known, (name, axis))
    return places


def conditions_on(
    captured: Captured, checked: Iterable[Any], bounds: Mapping[str, int], sizes: Iterable[Dim]
) -> list[Any]:
    """Conditions with the names of the sizes as symbols. A bound that is beyond what the code was exported for is an
    Error. `sizes`: those of the program's tensors."""
    named = {symbol: sympy.Symbol(name, integer=True) for symbol, name in captured.symbols.items()}
    found = [c.subs(named) for c in checked if set(c.free_symbols) <= set(named) and not _is_artificial(c, sizes, named)]
    for symbol, range_ in captured.program.range_constraints.items():
        name = captured.symbols.get(symbol)
        if name in bounds and range_.upper < bounds[name]:
            raise Error(
                f"the module does something else where {name} is above {range_.upper}: "
                f"give max={{'{name}': {range_.upper}}}"
            )
        if name is not None and range_.lower > ARTIFICIAL:
            found.append(named[symbol] >= int(range_.lower))
    return found


def _is_artificial(condition: Any, sizes: Iterable[Dim], names: Mapping[sympy.Symbol, sympy.Symbol]) -> bool:
    """That a size, or one that follows from it such as T - 2, is not 0 or 1."""
    if not isinstance(condition, sympy.Ne):
        return False
    symbols = [x for x in condition.args if x.is_Symbol]
    numbers = [x for x in condition.args if x.is_Integer]
    if not symbols or not numbers or numbers[0] in (0, 1):
        return bool(numbers) and numbers[0] in (0, 1)
    name = names[symbols[0]].name
    return any(size.value({name: int(numbers[0])}) in (0, 1) for size in sizes if size.symbols() == [name])


def check_sizes(conditions: list[Any], sizes: Mapping[str, int]) -> None:
    for condition in conditions:
        known = {s: sizes[s.name] for s in condition.free_symbols if s.name in sizes}
        if condition.subs(known) == sympy.false:
            given = ", ".join(f"{s.name} = {n}" for s, n in known.items())
            raise Error(f"{given}: the module was exported for sizes with {_said(condition)}, since its code does "
                        "something else for others; give a sample on that side, or other sizes")


def least_of(name: str, natural: Iterable[Dim], least: int, bound: int) -> int:
    """The least size, from `least` on, with which none of what follows from this size alone is below 0."""
    for size in (size for size in natural if size.symbols() == [name]):
        first = least
        while least <= bound and size.value({name: least}) < 0:
            least += 1
        if least > bound:
            raise Error(
                f"{name} <= {bound}: the size {size} is below 0 for every {name} from {first} to {bound}; "
                f"give a larger bound in max"
            )
    return least


def _said(condition: Any) -> str:
    if isinstance(condition, (sympy.Ne, sympy.Eq)):
        return f"{condition.lhs} {'!=' if isinstance(condition, sympy.Ne) else '=='} {condition.rhs}"
    return str(condition)
