"""Discrete Fourier transforms, as products with the matrices of cosines and sines.

    y[k] = sum over j of x[j] exp(-2 pi i j k / n), forward; of exp(+2 pi i j k / n), backward
"""

from __future__ import annotations

import math
from typing import Any, Sequence

from ...builder import Value
from ...builder.sizes import Dim, product
from ..complex_values import Complex
from ..registry import complex_row, refuse
from .shape import axis_of

BY_ROOT, BY_SIZE = 1, 2
"""PyTorch's numbers for the kinds of scaling."""
LARGEST = 46340
"""The largest size: products of two indices are i32."""


@complex_row("aten._fft_c2c.default")
def between_complex(w, out, self, dim, normalization, forward):
    axes = [axis_of(self.rank, each) for each in dim]
    for axis in axes:
        self = _transformed(w, self, axis, self.shape[axis], -1 if forward else 1)
    return self.each(lambda x: _scaled(w, x, [self.shape[axis] for axis in axes], normalization))


@complex_row("aten._fft_r2c.default")
def of_real(w, out, self, dim, normalization, onesided):
    """With `onesided` the last dim has the first half of its results alone: the others are their conjugates."""
    axes = [axis_of(self.rank, each) for each in dim]
    sizes, last = [self.shape[axis] for axis in axes], axes[-1]
    cosines, sines = _waves(w, self.shape[last], out.shape[last])
    found = Complex(_product(w, self, last, cosines), w.point("neg", _product(w, self, last, sines)))
    for axis in axes[:-1]:
        found = _transformed(w, found, axis, found.shape[axis], -1)
    return found.each(lambda x: _scaled(w, x, sizes, normalization))


@complex_row("aten._fft_c2r.default")
def to_real(w, out, self, dim, normalization, last_dim_size):
    """From half of the last dim: each but the first, and of an even size the last, stands for two conjugates."""
    axes = [axis_of(self.rank, each) for each in dim]
    sizes, last = [out.shape[axis] for axis in axes], axes[-1]
    for axis in axes[:-1]:
        self = _transformed(w, self, axis, self.shape[axis], 1)
    cosines, sines = (_twice(w, waves, out.shape[last]) for waves in _waves(w, out.shape[last], self.shape[last]))
    real = _product(w, self.real, last, w.transpose(cosines, [1, 0]))
    imaginary = _product(w, self.imaginary, last, w.transpose(sines, [1, 0]))
    return _scaled(w, w.point("sub", real, imaginary), sizes, normalization)


def _transformed(w: Any, x: Complex, axis: int, size: Any, sign: int) -> Complex:
    cosines, sines = _waves(w, size, size)
    turned = Complex(_product(w, x.imaginary, axis, sines), _product(w, x.real, axis, sines))
    real, imaginary = _product(w, x.real, axis, cosines), _product(w, x.imaginary, axis, cosines)
    if sign < 0:
        return Complex(w.add(real, turned.real), w.point("sub", imaginary, turned.imaginary))
    return Complex(w.point("sub", real, turned.real), w.add(imaginary, turned.imaginary))


def _waves(w: Any, size: Any, count: Any) -> tuple[Value, Value]:
    """cos and sin of 2 pi j k / size, [size, count]. Whole turns are left out first, which keeps the angle exact."""
    if isinstance(size, int) and size > LARGEST:
        refuse(f"a Fourier transform of {size} elements, at most {LARGEST}: it is a product with a matrix of that size")
    shape = (size, count)
    turns = w.remainder(w.mul(w.iota(shape, 0), w.iota(shape, 1)), w.operand(size, "i32", shape), True)
    angle = w.div(w.mul(w.cast(turns, "f32"), 2 * math.pi), w.operand(size, "f32", shape))
    return w.point("cos", angle), w.point("sin", angle)


def _twice(w: Any, waves: Value, size: Any) -> Value:
    place = w.iota(waves.shape, 1)
    inner = w.point("lt", w.mul(place, 2), w.operand(size, "i32", waves.shape))
    return w.select(w.point("logical_and", w.point("gt", place, 0), inner), w.mul(waves, 2.0), waves)


def _product(w: Any, x: Value, axis: int, matrix: Value) -> Value:
    order = [i for i in range(x.rank) if i != axis]
    front = [x.shape[i] for i in order]
    rows = w.reshape(w.transpose(x, [*order, axis]), (product(front), x.shape[axis]))
    found = w.reshape(w.matmul("mk,kn->mn", rows, matrix), (*front, matrix.shape[1]))
    back = [i if i < axis else x.rank - 1 if i == axis else i - 1 for i in range(x.rank)]
    return w.transpose(found, back)


def _scaled(w: Any, x: Value, sizes: Sequence[Any], normalization: int) -> Value:
    if normalization not in (BY_ROOT, BY_SIZE):
        return x
    count = product(sizes)
    by = w.cast(w.size(count), "f32") if isinstance(count, Dim) else float(count)
    if normalization == BY_ROOT:
        by = w.point("sqrt", by) if isinstance(by, Value) else math.sqrt(by)
    return w.div(x, by)
