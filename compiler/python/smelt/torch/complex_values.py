"""Complex tensors, which Smelt does not have: a pair of real ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import torch

from ..builder import Value
from ..builder.sizes import Shape
from .registry import COMPLEX, Result


@dataclass(frozen=True)
class Complex:
    """The real and the imaginary parts of a tensor; both have its shape."""

    real: Value
    imaginary: Value

    @property
    def shape(self) -> Shape:
        return self.real.shape

    @property
    def rank(self) -> int:
        return self.real.rank

    @property
    def grad(self) -> bool:
        return self.real.grad or self.imaginary.grad

    def each(self, function: Callable[[Value], Value]) -> "Complex":
        """What the function makes of both parts."""
        return Complex(function(self.real), function(self.imaginary))


def has_complex(*trees: Any) -> bool:
    """Whether a value or the type of a result is complex."""
    leaves = torch.utils._pytree.tree_leaves(trees)
    return any(isinstance(x, Complex) or (isinstance(x, Result) and x.dtype == COMPLEX) for x in leaves)


def complex_table(table: Callable[[torch.Tensor], Value], numbers: torch.Tensor) -> Complex:
    """A constant."""
    numbers = numbers.detach().resolve_conj()
    return Complex(table(numbers.real.contiguous()), table(numbers.imag.contiguous()))
