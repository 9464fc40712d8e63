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
    """A result of an operation: its name in the text, its type, and what is known of it.

    The facts let rows see through masks and places, so that fewer operations are written; none of them is needed for
    the result to be right.
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

    def __str__(self) -> str:
        return f"%{self.name}"

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


def kept_axes(before: Shape, after: Shape) -> Optional[dict[int, int]]:
    """The dims that stay where a reshape only adds or drops dims of 1, by their places before; else None."""
    old = [i for i, size in enumerate(before) if size != 1]
    new = [i for i, size in enumerate(after) if size != 1]
    is_same = [before[i] for i in old] == [after[i] for i in new]
    return dict(zip(old, new)) if is_same else None


def last_place(shape: Shape, axes) -> Optional[int]:
    """The largest index along the one axis, where its size is known."""
    size = shape[axes[0]] if len(axes) == 1 else None
    return size - 1 if isinstance(size, int) else None
