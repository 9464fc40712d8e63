"""What a writer of nodes makes of operands as PyTorch has them: values of sizes that spread, numbers, and sizes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Callable, Union

import sympy

from .facts import spread_shape
from .values import Number, Value

Operand = Union[Value, Number, sympy.Expr]

_ROOTS = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}


class Arithmetic:
    """Of operands that have one shape, or are numbers; the Writer has the nodes."""

    if TYPE_CHECKING:
        constant: Callable[..., Value]
        one: Callable[..., Value]
        operand: Callable[..., Value]
        pointwise: Callable[..., Value]
        spread: Callable[..., Value]

    def binary(self, operation: str, a: Operand, b: Operand) -> Value:
        like = a if isinstance(a, Value) else b
        shape = spread_shape(*(x.shape for x in (a, b) if isinstance(x, Value)))
        return self.pointwise(operation, self.operand(a, like.dtype, shape), self.operand(b, like.dtype, shape))

    def add(self, a: Operand, b: Operand) -> Value:
        return self.binary("add", a, b)

    def sub(self, a: Operand, b: Operand) -> Value:
        return self.binary("sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Value:
        return self.binary("mul", a, b)

    def div(self, a: Operand, b: Operand) -> Value:
        return self.binary("div", a, b)

    def unary(self, operation: str, x: Value) -> Value:
        return self.pointwise(operation, x)

    def select(self, condition: Value, a: Operand, b: Operand) -> Value:
        like = a if isinstance(a, Value) else b
        shape = spread_shape(condition.shape, *(x.shape for x in (a, b) if isinstance(x, Value)))
        return self.pointwise(
            "select",
            self.spread(condition, shape),
            self.operand(a, like.dtype, shape),
            self.operand(b, like.dtype, shape),
        )

    def both(self, a: Value, b: Value) -> Value:
        """a and b; what is true everywhere leaves no trace."""
        for x, other in ((a, b), (b, a)):
            if x.splat is not None and bool(x.splat):
                return self.spread(other, spread_shape(a.shape, b.shape))
        return self.binary("logical_and", a, b)

    def with_slopes(self, y: Value, *pairs: tuple[Value, Operand]) -> Value:
        """y, of which the derivative by each x is its slope: for functions whose parts have no derivative where they
        have one, or another."""
        operands = [y]
        for x, slope in pairs:
            if x.grad:
                operands += [self.spread(x, y.shape), self.operand(slope, "f32", y.shape)]
        if len(operands) == 1:
            return y
        result = self.one("with_slopes", operands, "f32", y.shape)
        result.grad = True
        return result

    def root(self, x: Value) -> Value:
        """The square root that is left of a sum of squares: its derivative at 0 counts as 0, as PyTorch has it of norms
        and deviations."""
        y = self.unary("sqrt", x)
        return self.with_slopes(y, (x, self.select(self.binary("eq", y, 0.0), 0.0, self.div(0.5, y))))

    def power(self, x: Value, exponent: Number) -> Value:
        """x ** exponent, with the derivative exponent * x ** (exponent - 1) also where x is 0."""
        y = self._power_alone(x, exponent)
        is_plain = 0 <= exponent <= 16 and float(exponent) == int(exponent)
        if x.dtype != "f32" or is_plain or exponent in _ROOTS or not x.grad:
            return y
        return self.with_slopes(y, (x, self.mul(self._power_alone(x, exponent - 1), float(exponent))))

    def _power_alone(self, x: Value, exponent: Number) -> Value:
        """By multiplications and roots where that gives it."""
        if float(exponent) == int(exponent) and 0 <= exponent <= (16 if x.dtype == "f32" else math.inf):
            return self._whole_power(x, int(exponent))
        if x.dtype == "f32" and exponent in _ROOTS:
            return self.unary(_ROOTS[exponent], x)
        if float(exponent) == int(exponent) and exponent < 0:
            return self.unary("reciprocal", self._power_alone(x, -exponent))
        if float(exponent) * 2 == int(exponent * 2) and exponent > 0:
            return self.mul(self._power_alone(x, int(exponent)), self.unary("sqrt", x))
        return self.unary("exp", self.mul(self.unary("log", x), float(exponent)))

    def _whole_power(self, x: Value, exponent: int) -> Value:
        if exponent == 0:
            return self.constant(1, x.dtype, x.shape)
        result, square = None, x
        while True:
            if exponent & 1:
                result = square if result is None else self.mul(result, square)
            exponent >>= 1
            if exponent == 0:
                return result
            square = self.mul(square, square)
