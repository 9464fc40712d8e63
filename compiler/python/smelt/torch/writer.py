"""What PyTorch adds to the builder: its sizes, tensors as constants, derivatives and random numbers."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, Callable, Optional, Sequence, Union

import sympy
import torch

from .._native import GraphBuilder
from ..builder import Builder, Value
from ..builder.sizes import Shape, Size
from ..errors import Error
from ..ranges import LIMITS, fits
from .complex_values import Complex, complex_table
from .dims import Sizes
from .dtypes import type_in_graph
from .powers import power


class Writer(Builder):
    """Writes nodes for the rows (the folder aten), which are made of what is here."""

    def __init__(
        self,
        block: GraphBuilder,
        dims: Sizes,
        random_id: Callable[[], int],
        weights: Callable[[Any, Optional[str]], Value],
    ) -> None:
        super().__init__(block, dims.ranges, wide=True)
        self.dims = dims
        self.random_id = random_id
        self.weights = weights
        self.used_results: list[bool] = []
        self.is_64_bits = True
        """Whether the integers of the operation at hand are int64 in PyTorch."""

    def require_natural(self, *sizes: Size) -> None:
        self.dims.check(*sizes)
        super().require_natural(*sizes)

    def table(self, array: Any, name: Optional[str] = None) -> Union[Value, Complex]:
        """A constant tensor, or NumPy's numbers."""
        if not isinstance(array, torch.Tensor):
            return super().table(array, name)
        if array.is_complex():
            return complex_table(self.table, array)
        if type_in_graph(array.dtype) is None:
            raise Error(f"a constant tensor is {array.dtype}, which Smelt does not have")
        array = array.detach().cpu()
        return super().table((array.float() if array.is_floating_point() else array).numpy(), name)

    def stop(self, x: Value) -> Value:
        return self.view("stop_gradient", x) if x.grad else x

    def in_width(self, x: Value, dtype: str) -> Value:
        """Integers as a type of at most 32 bits holds them: they wrap around at its width."""
        if x.dtype == "i64":
            x = replace(self.node("convert", [x], "i32", x.shape), low=None, high=None)
        if fits(x.numbers, dtype):
            return x
        stored = self.node("convert", [x], "u16" if dtype == "i16" else dtype, x.shape)
        result = self.node("convert", [stored], "i32", x.shape)
        if dtype == "i16":
            result = self.select(self.point("ge", result, 2**15), self.sub(result, 2**16), result)
        result.low, result.high = LIMITS[dtype]
        return result

    def along(self, x: Value, axes: Sequence[int], shape: Shape) -> Value:
        """What a reduction over these axes gave, again over all of the shape."""
        return self.broadcast(x, [i for i in range(len(shape)) if i not in set(axes)], shape)

    def sums_of_exponentials(self, x: Value, axes: Sequence[int]) -> list[Value]:
        """The largest number m over the axes, and the sum of exp(x - m)."""
        axes = sorted(axis % x.rank for axis in axes) if x.rank else []
        return self.nodes("reduce max_sumexp", [x], axes=axes) if axes else [x, self.constant(1, "f32", x.shape)]

    def with_slopes(self, y: Value, *pairs: tuple[Value, Any]) -> Value:
        """y, of which the derivative by each x is its slope: for functions whose parts have no derivative where they
        have one, or another."""
        pairs = [(x, slope) for x, slope in pairs if x.grad]
        if not pairs:
            return y
        operands = [self.operand(each, "f32", y.shape) for pair in pairs for each in pair]
        return self.node("with_slopes", [y, *operands])

    # ---- numbers that are computed of sizes

    def lifted(self, x: Any, dtype: Optional[str] = None, shape: Optional[Shape] = None) -> Value:
        if not isinstance(x, sympy.Expr):
            return super().lifted(x, dtype, shape)
        if x.is_number:
            return super().lifted(int(x) if x.is_Integer else float(x), dtype, shape)
        return self._evaluated(x)

    def _evaluated(self, x: sympy.Expr) -> Value:
        """Quotients and powers of sizes are floats; whatever text has as a size is an integer."""
        kind = type(x).__name__
        if kind in ("FloatPow", "Pow") and x.args[1].is_number and not (x.args[1].is_Integer and x.args[1] >= 0):
            return power(self, self.operand(x.args[0], "f32"), float(x.args[1]))
        operation = _OF_FLOATS.get(kind)
        if operation is None or (kind in ("Mul", "Add") and all(map(_is_size, x.args))):
            return self.cast(self.operand(x.args[0]), "f32") if kind == "ToFloat" else self.size(self.dims.of(x))
        parts = (self.operand(part, "f32") for part in x.args)
        return functools.reduce(lambda a, b: self.pointwise(operation, a, b), parts)


_OF_FLOATS = {"IntTrueDiv": "div", "FloatTrueDiv": "div", "Mul": "mul", "Add": "add"}


def _is_size(x: sympy.Expr) -> bool:
    """Whether it is a whole number whatever the symbols are, as far as its form says."""
    kinds = ("IntTrueDiv", "FloatTrueDiv", "ToFloat", "FloatPow")
    return not any(type(part).__name__ in kinds or part.is_Float for part in sympy.preorder_traversal(x))
