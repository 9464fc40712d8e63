"""What the sizes of a run must fulfil, since export has relied on it: a branch of the module's code was taken by them."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

import sympy
import torch

from ..errors import Error
from .capture import Captured
from .dims import expression

ARTIFICIAL = 3
"""PyTorch exports for sizes that are neither 0 nor 1, and takes the same of a size less 1: lower bounds up to here, and that
a size is not 0 or 1, say nothing about the module."""


def size_places(captured: Captured, values: Iterable[torch.Tensor]) -> dict[str, tuple[str, int]]:
    """Where each named size is read: the input and its dim."""
    places: dict[str, tuple[str, int]] = {}
    for name, value in zip(captured.inputs, values):
        for axis, size in enumerate(value.shape):
            known = captured.symbols.get(expression(size)) if isinstance(size, torch.SymInt) else None
            if known is not None:
                places.setdefault(known, (name, axis))
    return places


def conditions_on(captured: Captured, checked: Iterable[Any], bounds: Mapping[str, int]) -> list[Any]:
    """Conditions with the names of the sizes as symbols. A bound that is beyond what the code was exported for is an
    Error."""
    named = {symbol: sympy.Symbol(name, integer=True) for symbol, name in captured.symbols.items()}
    found = [c.subs(named) for c in checked if not _is_artificial(c) and set(c.free_symbols) <= set(named)]
    for symbol, range_ in captured.program.range_constraints.items():
        name = captured.symbols.get(symbol)
        if name in bounds and range_.upper < bounds[name]:
            raise Error(
                f"the module does something else where {name} is above {range_.upper}: give max={{'{name}': {range_.upper}}}"
            )
        if name is not None and range_.lower > ARTIFICIAL:
            found.append(named[symbol] >= int(range_.lower))
    return found


def _is_artificial(condition: Any) -> bool:
    return isinstance(condition, sympy.Ne) and any(x in (0, 1) for x in condition.args)


def check_sizes(conditions: list[Any], sizes: Mapping[str, int]) -> None:
    for condition in conditions:
        known = {s: sizes[s.name] for s in condition.free_symbols if s.name in sizes}
        if condition.subs(known) == sympy.false:
            given = ", ".join(f"{s.name} = {n}" for s, n in known.items())
            raise Error(f"{given}: the module was exported for sizes with {condition}, since its code does something else "
                        "for others; give a sample on that side, or other sizes")
