"""Tensors of the graph that is being written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union

from ..ranges import LIMITS, Range
from ..text import type_text
from .sizes import Shape, Size

Number = Union[int, float, bool]


@dataclass(eq=False)
class Value:
    """A result of an operation: its number in the graph, its type, and what is known of it.

    The facts let rows see through masks and places, so that fewer operations are written; none of them is needed for
    the result to be right.
    """

    number: int
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
    place: Optional[tuple[int, int, Size]] = None
    """(axis, step, begin): elements are begin + step * index along the axis."""
    recipe: Optional[tuple[str, tuple["Value", ...]]] = None
    """The pointwise operation that made it, for bodies that compute it again."""
    spread: Optional[tuple["Value", tuple[int, ...]]] = None
    """A smaller value and the axes of this one that its dims are, -1 for one of 1 that is none; the other axes repeat
    it."""
    turned: Optional[tuple["Value", tuple[int, ...]]] = None
    """A value and the permutation that made this of it."""
    size: Optional[Size] = None
    """The size that a single integer is."""
    mean: Optional[tuple["Value", "Value"]] = None
    """The sum and the number of what was summed for a mean."""
    port: Optional[str] = None
    """The input whose elements these are, all of them."""

    @property
    def type(self) -> str:
        return type_text(self.dtype, self.shape)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def numbers(self) -> Range:
        """The least and the largest number that elements of an integer or a flag can be."""
        least, most = LIMITS[self.dtype]
        return least if self.low is None else self.low, most if self.high is None else self.high
