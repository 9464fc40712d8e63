"""Operations on complex numbers, as operations on their real and imaginary parts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Callable, Union

import sympy
import torch

from ...builder import Value
from ...builder.sizes import Dim, broadcast_shapes, product
from ..complex_values import Complex
from ..registry import ROWS, complex_row, refuse, row
from .pointwise import CONVERSIONS

Part = Union[Value, int, float, Dim, sympy.Expr]

PARTWISE = (
    "view.default", "_unsafe_view.default", "reshape.default", "view_copy.default", "_reshape_copy.default",
    "unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims", "flatten.using_ints", "unflatten.int",
    "permute.default", "transpose.int", "t.default", "numpy_T.default", "mT.default", "movedim.int",
    "expand.default", "expand_copy.default", "expand_as.default", "broadcast_to.default", "repeat.default",
    "tile.default", "repeat_interleave.self_int", "slice.Tensor", "slice_copy.Tensor", "select.int",
    "select_copy.int", "narrow.default", "split.Tensor", "split.sizes", "split_with_sizes.default",
    "split_with_sizes_copy.default", "chunk.default", "tensor_split.sections", "unsafe_split.Tensor",
    "unsafe_chunk.default", "unbind.int", "cat.default", "concat.default", "stack.default", "flip.default",
    "roll.default", "index.Tensor", "_unsafe_index.Tensor", "index_select.default", "gather.default",
    "embedding.default", "clone.default", "alias.default", "contiguous.default", "lift_fresh_copy.default",
    "lift_fresh.default", "detach.default", "detach_.default", "neg.default", "sum.default", "sum.dim_IntList",
    "cumsum.default", "mean.default", "mean.dim", "tril.default", "triu.default", "diagonal.default",
)  # fmt: skip
"""Operations that do the same to both parts, and between parts nothing."""


def _with_parts(tree: Any, choose: Callable[[Complex], Value]) -> Any:
    is_complex = lambda x: isinstance(x, Complex)  # noqa: E731
    return torch.utils._pytree.tree_map(lambda x: choose(x) if is_complex(x) else x, tree, is_leaf=is_complex)


def _real_result(out: Any) -> Any:
    if isinstance(out, tuple):
        return tuple(map(_real_result, out))
    return replace(out, dtype="f32")


def _partwise(name: str) -> Callable:
    def apply(w, out, dtype=None, **arguments):
        if "tensors" in arguments:  # a real one among them has an imaginary part of 0
            arguments["tensors"] = [parts_of(w, x) for x in arguments["tensors"]]
        parts = _real_result(out)
        real = ROWS[name](w, parts, **_with_parts(arguments, lambda x: x.real))
        imaginary = ROWS[name](w, parts, **_with_parts(arguments, lambda x: x.imaginary))
        return tuple(map(Complex, real, imaginary)) if isinstance(real, tuple) else Complex(real, imaginary)

    return apply


def register_partwise() -> None:
    """Called when all rows of real numbers are there."""
    for name in PARTWISE:
        if f"aten.{name}" in ROWS:
            complex_row(f"aten.{name}")(_partwise(f"aten.{name}"))


# ---- between complex numbers and their parts


def parts_of(w, x: Any) -> Complex:
    """A tensor or a number as a complex one."""
    if isinstance(x, Complex):
        return x
    if isinstance(x, complex):
        return Complex(w.constant(x.real, "f32", ()), w.constant(x.imag, "f32", ()))
    real = w.operand(x, "f32")
    return Complex(real, w.constant(0.0, "f32", real.shape))


@complex_row("aten.view_as_complex.default")
def view_as_complex(w, out, self):
    last = self.rank - 1
    return Complex(*(w.reshape(w.slice(self, last, i, 1), out.shape) for i in (0, 1)))


@complex_row("aten.view_as_real.default")
def view_as_real(w, out, self):
    shape = self.shape + (1,)
    return w.concat([w.reshape(self.real, shape), w.reshape(self.imaginary, shape)], len(self.shape))


@complex_row("aten.complex.default")
def complex_of(w, out, real, imag):
    return Complex(w.operand(real, "f32", out.shape), w.operand(imag, "f32", out.shape))


@complex_row("aten.polar.default")
def polar(w, out, abs, angle):
    size, angle = w.operand(abs, "f32", out.shape), w.operand(angle, "f32", out.shape)
    return Complex(w.mul(size, w.point("cos", angle)), w.mul(size, w.point("sin", angle)))


@complex_row("aten.real.default")
def real(w, out, self):
    return self.real


@complex_row("aten.imag.default")
def imag(w, out, self):
    return self.imaginary


@complex_row("aten.abs.default")
def absolute(w, out, self):
    """By the larger part, whose square may be beyond the range of floats; 0 has a derivative of 0."""
    a, b = w.point("abs", self.real), w.point("abs", self.imaginary)
    most, least = w.point("max", a, b), w.point("min", a, b)
    some = w.point("gt", most, 0.0)
    infinite = w.point("eq", most, math.inf)
    safe = w.select(some, most, 1.0)
    ratio = w.div(least, safe)
    size = w.mul(most, w.point("sqrt", w.add(w.mul(ratio, ratio), 1.0)))
    return w.select(infinite, math.inf, size)


@complex_row("aten._conj.default", "aten.conj.default", "aten.conj_physical.default", "aten._conj_physical.default")
def conj(w, out, self):
    return Complex(self.real, w.point("neg", self.imaginary))


@complex_row("aten.resolve_conj.default", "aten.resolve_neg.default")
def resolved(w, out, self):
    return self


@complex_row("aten._neg_view.default")
def neg_view(w, out, self):
    return self.each(lambda x: w.point("neg", x))


@row("aten._neg_view.default")
def negated(w, out, self):
    return w.point("neg", self)


@complex_row(*CONVERSIONS)
def convert(w, out, self, dtype=None, **_):
    """A real number of a complex one is its real part, as in PyTorch."""
    if isinstance(self, Complex):
        return self if out.dtype == "complex" else w.cast(self.real, out.dtype)
    return parts_of(w, self)


# ---- creation


@complex_row("aten.full.default", "aten.full_like.default", "aten.new_full.default", "aten.scalar_tensor.default")
def full(w, out, self=None, size=None, fill_value=0, s=None, dtype=None):
    number = complex(fill_value if s is None else s)
    return Complex(w.constant(number.real, "f32", out.shape), w.constant(number.imag, "f32", out.shape))


@complex_row("aten.zeros.default", "aten.zeros_like.default", "aten.new_zeros.default")
def zeros(w, out, **_):
    return full(w, out, fill_value=0)


@complex_row("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(w, out, **_):
    return full(w, out, fill_value=1)


# ---- arithmetic


def _is_real(x: Any) -> bool:
    return not isinstance(x, (Complex, complex))


def _spread(w, x: Complex, shape) -> Complex:
    return x.each(lambda part: w.operand(part, "f32", shape))


@complex_row("aten.add.Tensor", "aten.add.Scalar")
def add(w, out, self, other, alpha=1):
    a, b = _scaled(w, self, other, alpha)
    return _spread(w, Complex(w.add(a.real, b.real), w.add(a.imaginary, b.imaginary)), out.shape)


@complex_row("aten.sub.Tensor", "aten.sub.Scalar")
def sub(w, out, self, other, alpha=1):
    a, b = _scaled(w, self, other, alpha)
    return _spread(w, Complex(w.sub(a.real, b.real), w.sub(a.imaginary, b.imaginary)), out.shape)


@complex_row("aten.rsub.Tensor", "aten.rsub.Scalar")
def rsub(w, out, self, other, alpha=1):
    return sub(w, out, other, self, alpha)


def _scaled(w, a: Any, b: Any, alpha) -> tuple[Complex, Complex]:
    a, b = parts_of(w, a), parts_of(w, b)
    if isinstance(alpha, complex):
        return a, Complex(*_product(w, b, parts_of(w, alpha)))
    return a, b if alpha == 1 else b.each(lambda x: w.mul(x, alpha))


@complex_row("aten.mul.Tensor", "aten.mul.Scalar")
def mul(w, out, self, other):
    """A real factor multiplies both parts."""
    if _is_real(self):
        self, other = other, self
    if _is_real(other):
        return _spread(w, parts_of(w, self).each(lambda x: w.mul(x, _real_factor(w, other))), out.shape)
    return _spread(w, Complex(*_product(w, parts_of(w, self), parts_of(w, other))), out.shape)


def _real_factor(w, x: Any) -> Part:
    return w.cast(x, "f32") if isinstance(x, Value) else x


def _product(w, a: Complex, b: Complex) -> tuple[Value, Value]:
    real = w.sub(w.mul(a.real, b.real), w.mul(a.imaginary, b.imaginary))
    return real, w.add(w.mul(a.real, b.imaginary), w.mul(a.imaginary, b.real))


@complex_row("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor")
def div(w, out, self, other):
    """By Smith's rule: both parts of the divisor over the larger one."""
    a = parts_of(w, self)
    if _is_real(other):
        return _spread(w, a.each(lambda x: w.div(x, _real_factor(w, other))), out.shape)
    b = parts_of(w, other)
    is_real_larger = w.point("ge", w.point("abs", b.real), w.point("abs", b.imaginary))
    large = w.select(is_real_larger, b.real, b.imaginary)
    small = w.select(is_real_larger, b.imaginary, b.real)
    shape = broadcast_shapes(a.shape, b.shape)
    large, small, is_real_larger = (w.spread(x, shape) for x in (large, small, is_real_larger))
    a = _spread(w, a, shape)
    first = w.select(is_real_larger, a.real, a.imaginary)
    second = w.select(is_real_larger, a.imaginary, a.real)
    ratio = w.div(small, large)
    below = w.add(large, w.mul(small, ratio))
    real = w.div(w.add(first, w.mul(second, ratio)), below)
    turned = w.div(w.sub(second, w.mul(first, ratio)), below)
    return Complex(real, w.select(is_real_larger, turned, w.point("neg", turned)))


@complex_row("aten.reciprocal.default")
def reciprocal(w, out, self):
    return div(w, out, 1.0, self)


@complex_row("aten.exp.default")
def exp(w, out, self):
    return polar(w, out, w.point("exp", self.real), self.imaginary)


@complex_row("aten.square.default")
def square(w, out, self):
    return Complex(*_product(w, self, self))


@complex_row("aten.pow.Tensor_Scalar")
def power(w, out, self, exponent):
    if not isinstance(exponent, int) or not 0 <= exponent <= 16:
        refuse(f"a complex number to the power {exponent}")
    result = full(w, out, fill_value=1)
    for _ in range(exponent):
        result = Complex(*_product(w, result, self))
    return result


# ---- comparison and choice


@complex_row("aten.eq.Tensor", "aten.eq.Scalar")
def equal(w, out, self, other):
    a, b = parts_of(w, self), parts_of(w, other)
    both = w.both(w.point("eq", a.real, b.real), w.point("eq", a.imaginary, b.imaginary))
    return w.spread(both, out.shape)


@complex_row("aten.ne.Tensor", "aten.ne.Scalar")
def not_equal(w, out, self, other):
    return w.point("logical_not", equal(w, out, self, other))


@complex_row("aten.where.self")
def where(w, out, condition, self, other):
    a, b = parts_of(w, self), parts_of(w, other)
    condition = w.cast(condition, "bool")
    chosen = Complex(w.select(condition, a.real, b.real), w.select(condition, a.imaginary, b.imaginary))
    return _spread(w, chosen, out.shape)


# ---- products of matrices


def _product_of_matrices(name: str, first: str, second: str) -> Callable:
    def multiply(w, out, **arguments):
        a, b = parts_of(w, arguments.pop(first)), parts_of(w, arguments.pop(second))
        shape = _real_result(out)

        def product(x: Value, y: Value) -> Value:
            return ROWS[name](w, shape, **{first: x, second: y}, **arguments)

        real = w.sub(product(a.real, b.real), product(a.imaginary, b.imaginary))
        return Complex(real, w.add(product(a.real, b.imaginary), product(a.imaginary, b.real)))

    return multiply


for _name, _second in (("mm", "mat2"), ("bmm", "mat2"), ("mv", "vec"), ("matmul", "other")):
    complex_row(f"aten.{_name}.default")(_product_of_matrices(f"aten.{_name}.default", "self", _second))
