"""The table of rows: one function for each operation of PyTorch, under its name.

    @row("aten.add.Tensor")
    def add(w, out, self, other, alpha=1): ...

`w` is the Writer, `out` the type of the result as PyTorch has it (a tuple where there are several), and the rest are
the operation's own arguments under the names of its schema: tensors are Values, sizes are numbers or expressions.
A row that cannot take what it is given calls `refuse`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, NoReturn, Optional

import torch

from ..builder.sizes import Shape
from .dims import Sizes
from .dtypes import type_in_graph

ROWS: dict[str, Callable] = {}
COMPLEX_ROWS: dict[str, Callable] = {}
"""The rows of operations that take or give complex numbers."""
COMPLEX = "complex"
"""The type of a result of complex numbers, which have two parts each."""
PLACEMENT = {"layout", "device", "pin_memory", "memory_format", "non_blocking", "generator", "out"}
"""Arguments that say where a result lies and not what it is."""


class Refusal(Exception):
    """Why a row does not take an operation."""


@dataclass(frozen=True)
class Result:
    """A result as PyTorch has it."""

    dtype: Optional[str]
    shape: Shape
    torch_dtype: torch.dtype


def row(*names: str) -> Callable[[Callable], Callable]:
    return _into(ROWS, names)


def complex_row(*names: str) -> Callable[[Callable], Callable]:
    """A row whose tensors are of complex numbers, or some of them."""
    return _into(COMPLEX_ROWS, names)


def _into(table: dict[str, Callable], names: tuple[str, ...]) -> Callable[[Callable], Callable]:
    def add(function: Callable) -> Callable:
        for name in names:
            if name in table:
                raise ValueError(f"two rows for {name}")
            table[name] = function
        return function

    return add


def refuse(reason: str) -> NoReturn:
    raise Refusal(reason)


def name_of(target: Any) -> str:
    """ "aten.add.Tensor" """
    return str(target)


def result_of(value: Any, sizes: Sizes) -> Any:
    """The Result of what PyTorch says of a node; None where it is no tensor."""
    if isinstance(value, torch.Tensor):
        dtype = COMPLEX if value.dtype.is_complex else type_in_graph(value.dtype)
        return Result(dtype, sizes.shape(value.shape), value.dtype)
    if isinstance(value, (tuple, list)):
        return tuple(result_of(v, sizes) for v in value)
    return None


def bound_arguments(target: torch._ops.OpOverload, args: tuple, kwargs: dict) -> dict[str, Any]:
    """By the names of the schema, defaults included."""
    bound = {}
    for i, argument in enumerate(target._schema.arguments):
        if i < len(args):
            bound[argument.name] = args[i]
        elif argument.name in kwargs:
            bound[argument.name] = kwargs[argument.name]
        elif argument.has_default_value():
            bound[argument.name] = argument.default_value
    return {name: value for name, value in bound.items() if name not in PLACEMENT}
