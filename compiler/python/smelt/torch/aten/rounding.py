"""Rounding, and division with whole quotients."""

from __future__ import annotations

from ...builder import Value
from ...remainders import floor_of_floats, fmod_of, is_exact_divisor, remainder_of_floats
from ..registry import row
from .pointwise import with_size


def trunc_of(w, x: Value) -> Value:
    return w.mul(w.point("sign", x), w.point("floor", w.point("abs", x)))


@row("aten.floor.default")
def floor(w, out, self):
    return w.point("floor", self) if self.dtype == "f32" else self


@row("aten.ceil.default")
def ceil(w, out, self):
    return w.point("neg", w.point("floor", w.point("neg", self))) if self.dtype == "f32" else self


@row("aten.trunc.default", "aten.fix.default")
def trunc(w, out, self):
    return trunc_of(w, self) if self.dtype == "f32" else self


@row("aten.round.default")
def round_half_even(w, out, self):
    if self.dtype != "f32":
        return self
    up = w.point("floor", w.add(self, 0.5))
    half = w.mul(up, 0.5)
    tie = w.point("eq", w.sub(up, self), 0.5)
    odd = w.point("ne", half, w.point("floor", half))
    return w.select(w.both(tie, odd), w.sub(up, 1.0), up)


@row("aten.frac.default")
def frac(w, out, self):
    return w.sub(self, trunc_of(w, self))


def _pair(w, out, a, b) -> tuple[Value, Value]:
    return w.operand(a, out.dtype, out.shape), w.operand(b, out.dtype, out.shape)


@row("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def div_mode(w, out, self, other, rounding_mode=None):
    a, b = _pair(w, out, self, other)
    if rounding_mode is None:
        return w.div(a, b)
    if out.dtype == "i32":
        whole = w.div(a, b) if rounding_mode == "trunc" else w.floor_div(a, b)
        return with_size(whole, "div", self, other)
    a, b = w.stop(a), w.stop(b)
    if rounding_mode == "trunc":
        return trunc_of(w, w.div(a, b))
    return w.point("floor", w.div(a, b)) if is_exact_divisor(other) else floor_of_floats(w, a, b)


@row("aten.floor_divide.default", "aten.floor_divide.Scalar")
def floor_divide(w, out, self, other):
    return div_mode(w, out, self, other, "floor")


@row("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def remainder(w, out, self, other):
    a, b = _pair(w, out, self, other)
    if out.dtype == "i32":
        return w.remainder(a, b, floors=True)
    if is_exact_divisor(other):
        return w.sub(a, w.mul(w.point("floor", w.div(a, b)), b))
    a0, b0 = w.stop(a), w.stop(b)
    slope = w.point("neg", floor_of_floats(w, a0, b0)) if b.grad else 0.0
    return w.with_slopes(remainder_of_floats(w, a0, b0), (a, 1.0), (b, slope))


@row("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(w, out, self, other):
    a, b = _pair(w, out, self, other)
    if out.dtype == "i32":
        return w.remainder(a, b, floors=False)
    if is_exact_divisor(other):
        return w.sub(a, w.mul(trunc_of(w, w.div(a, b)), b))
    a0, b0 = w.stop(a), w.stop(b)
    return w.with_slopes(fmod_of(w, a0, b0), (a, 1.0), (b, w.point("neg", trunc_of(w, w.div(a0, b0)))))


@row("aten.round.decimals")
def round_decimals(w, out, self, decimals):
    if decimals == 0:
        return round_half_even(w, out, self)
    scale = 10.0 ** abs(decimals)
    x = w.mul(self, scale) if decimals > 0 else w.div(self, scale)
    x = round_half_even(w, out, x)
    return w.div(x, scale) if decimals > 0 else w.mul(x, scale)
