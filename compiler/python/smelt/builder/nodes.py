"""Nodes, with what their results keep of what is known of the operands."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, Optional, Sequence

from .._native import GraphBuilder, scalar_operations
from ..ranges import LIMITS, fits
from .sizes import Dim, Ranges, Size
from .values import Value

FLAGS = frozenset(name for name, _, is_flag, _ in scalar_operations() if is_flag)
"""Pointwise operations whose results are flags."""
WITHOUT_DERIVATIVE = {name for name, _, _, has_slope in scalar_operations() if not has_slope} | {"stop_gradient"}
"""Operations that no derivative passes."""
VIEWS = frozenset("reshape transpose broadcast slice strided_slice windows gather stop_gradient".split())
"""Operations whose results have no other elements than their first operand."""
KEEPS_NUMBERS = VIEWS | {"convert", "concat", "reduce max", "reduce min"}
"""Operations whose results have no other numbers than their first operand, or, of a concat, than all of them."""


class Nodes:
    """Writes nodes into a block. Methods take values and numbers, write what is needed and return the result."""

    def __init__(self, block: GraphBuilder, ranges: Ranges, wide: bool) -> None:
        self.block = block
        self.ranges = ranges
        self.wide = wide
        """Whether integers are computed in 64 bits where 32 may not hold a result; else results wrap around at 32."""
        self.natural: set[Dim] = set()
        """Sizes and places that no run may have below 0."""

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
        types: Sequence[tuple[str, Sequence[Size]]] = (),
        body: Optional[GraphBuilder] = None,
        **attributes: Any,
    ) -> list[Value]:
        """A node of several results. Their types are those that the compiler infers; `types`: of an operation whose
        operands do not tell them."""
        made = self.block.node(operation, [x.number for x in operands], attributes, types, body)
        grad = operation not in WITHOUT_DERIVATIVE and any(x.grad for x in operands)
        results = [Value(*each, grad=grad and each[1] == "f32") for each in made]
        self.require_natural(*(size for x in results for size in x.shape))
        return results

    def require_natural(self, *sizes: Size) -> None:
        self.natural.update(size for size in sizes if isinstance(size, Dim))

    def node(self, operation: str, operands: Sequence[Value], *type_: Any, **attributes: Any) -> Value:
        """A node of one result; its type, where the operands do not tell it: the element type and the shape."""
        (result,) = self.nodes(operation, operands, (type_,) if type_ else (), **attributes)
        if operation in VIEWS and operands[0].splat is not None:
            return self.constant(operands[0].splat, result.dtype, result.shape)
        if operation in KEEPS_NUMBERS:
            self._keep_numbers(result, operands if operation == "concat" else operands[:1])
        return result

    @staticmethod
    def _keep_numbers(result: Value, sources: Sequence[Value]) -> None:
        if all(x.dtype in LIMITS for x in sources):
            numbers = min(x.numbers[0] for x in sources), max(x.numbers[1] for x in sources)
            if result.dtype not in LIMITS or fits(numbers, result.dtype):
                result.low, result.high = numbers

    def view(self, operation: str, x: Value, *type_: Any, **attributes: Any) -> Value:
        """A node whose result has all elements of x, and no others."""
        result = self.node(operation, [x], *type_, **attributes)
        result.port = x.port
        return result
