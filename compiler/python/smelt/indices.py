"""Integers that are indices, for the builders of both importers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .ranges import LIMITS


class Indices:
    """Checks of indices. Subclasses write nodes: `exact_node` one whose result has the operands' own type and width, and
    `everywhere` a number in each element."""

    if TYPE_CHECKING:
        cast: Any
        gather: Any
        iota: Any
        exact_node: Any
        everywhere: Any
        is_inside: Any

    def places(self, x: Any) -> Any:
        """Integers as indices of 32 bits. A number that these do not hold becomes the nearest one that they hold, which
        no table has a row for."""
        x = self.cast(x, "i32")
        if x.dtype != "i64":
            return x
        least, most = (self.everywhere(limit, "i64", x.shape) for limit in LIMITS["i32"])
        held = self.exact_node("min", [self.exact_node("max", [x, least], "i64"), most], "i64")
        return self.exact_node("convert", [held], "i32")

    def inside(self, x: Any, size: Any) -> Any:
        """Indices from 0 to size - 1: row i of 0, 1, 2, ... is i, and looking up any other row is an error."""
        return x if self.is_inside(x, size) else self.gather(self.iota((size,), 0), x, 0)
