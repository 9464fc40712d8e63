"""Nodes, with what their results keep of what is known of the operands."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, Optional, Sequence

from ..ranges import LIMITS, fits
from ..text import Block, Body, Symbol
from .operations import KEEPS_NUMBERS, WITHOUT_DERIVATIVE
from .sizes import Dim, Ranges, Shape, Size
from .values import Value


class Nodes:
    """Writes nodes into a block. Methods take values and numbers, write what is needed and return the result."""

    def __init__(self, block: Block, ranges: Ranges, wide: bool) -> None:
        self.block = block
        self.ranges = ranges
        self.wide = wide
        """Whether integers are computed in 64 bits where 32 may not hold a result; else results wrap around at 32."""
        self.natural: set[Dim] = set()
        """Sizes and places that no run may have below 0."""
        self._leaves: dict[tuple, Value] = {}

    @contextmanager
    def width(self, is_wide: bool) -> Iterator[None]:
        before, self.wide = self.wide, is_wide
        try:
            yield
        finally:
            self.wide = before

    def nodes(
        self,
        operation: str,
        operands: Sequence[Value],
        types: Sequence[tuple[str, Sequence[Size]]],
        body: Optional[Body] = None,
        **fields: Any,
    ) -> list[Value]:
        """A node of several results."""
        for _, shape in types:
            self.require_natural(*shape)
        fields = {name: Symbol(f"dim({x})") if isinstance(x, Dim) else x for name, x in fields.items()}
        made = self.block.nodes(operation, operands, types, body, **fields)
        given = [*operands, *(body.outside if body else ())]
        grad = operation not in WITHOUT_DERIVATIVE and any(x.grad for x in given)
        return [Value(*each, grad=grad and each.dtype == "f32") for each in made]

    def not_less(self, a: Size, b: Size) -> bool:
        """Whether a >= b for certain."""
        return self.ranges.is_natural(a - b)

    def require_natural(self, *sizes: Size) -> None:
        self.natural.update(size for size in sizes if isinstance(size, Dim))

    def node(
        self, operation: str, operands: Sequence[Value], dtype: str, shape: Sequence[Size], /, **fields: Any
    ) -> Value:
        """A node of one result."""
        (result,) = self.nodes(operation, operands, [(dtype, tuple(shape))], **fields)
        if operation in KEEPS_NUMBERS:
            self._keep_numbers(result, operands if operation == "concat" else operands[:1])
        return result

    @staticmethod
    def _keep_numbers(result: Value, sources: Sequence[Value]) -> None:
        if all(x.dtype in LIMITS for x in sources):
            numbers = min(x.numbers[0] for x in sources), max(x.numbers[1] for x in sources)
            if result.dtype not in LIMITS or fits(numbers, result.dtype):
                result.low, result.high = numbers

    def view(self, operation: str, x: Value, shape: Shape, **fields: Any) -> Value:
        """A node whose result has all elements of x, and no others."""
        result = self.node(operation, [x], x.dtype, shape, **fields)
        result.port = x.port
        return result
