"""Tensors of the graph that is being written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union

from .dims import Dim, Shape

Number = Union[int, float, bool]


@dataclass
class Value:
    """A result of an operation: its name in the text, its type, and what is known of it.

    The facts let rows see through what torch.export writes around masks and places, so that fewer operations are
    written; none of them is needed for the result to be right.
    """

    name: str
    dtype: str
    shape: Shape
    grad: bool = False
    """Whether a derivative may pass: it depends on a float parameter or input."""
    low: Optional[int] = None
    """No element is below this."""
    high: Optional[int] = None
    """No element is above this."""
    splat: Optional[Number] = None
    """The number that all elements are."""
    place: Optional[tuple[int, int, Dim]] = None
    """(axis, step, begin): elements are begin + step * index along the axis."""
    recipe: Optional[tuple[str, tuple["Value", ...]]] = None
    """The pointwise operation that made it, for bodies that compute it again."""
    spread: Optional[tuple["Value", tuple[int, ...]]] = None
    """A smaller value and the axes of this one that its dims are, -1 for one of 1 that is none; the other axes repeat
    it."""
    turned: Optional[tuple["Value", tuple[int, ...]]] = None
    """A value and the permutation that made this of it."""
    size: Optional[Dim] = None
    """Of a single integer: the size that it is."""
    mean: Optional[tuple["Value", "Value"]] = None
    """Of a mean: the sum and the number of what was summed."""

    @property
    def rank(self) -> int:
        return len(self.shape)
