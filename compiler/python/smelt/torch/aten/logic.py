"""Comparisons, logic, and the choices that are made by them."""

from __future__ import annotations

from ...builder import Value
from ..registry import refuse, row

def _compared(w, out, operation, a, b):
    dtypes = {"i32" if x.dtype == "i64" else x.dtype for x in (a, b) if isinstance(x, Value)}
    if any(isinstance(x, float) for x in (a, b)):
        dtypes.add("f32")
    if any(type(x) is int for x in (a, b)) and dtypes == {"bool"}:
        dtypes.add("i32")
    dtype = next(d for d in ("f32", "i32", "bool") if d in dtypes)
    shape = out.shape
    return w.pointwise(operation, w.operand(a, dtype, shape), w.operand(b, dtype, shape))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    for _overload in ("Tensor", "Scalar"):
        row(f"aten.{_name}.{_overload}")(
            lambda w, out, self, other, _name=_name: _compared(w, out, _name, self, other)
        )


def _logic(w, out, operation, a, b):
    a, b = w.operand(a, "bool", out.shape), w.operand(b, "bool", out.shape)
    return w.both(a, b) if operation == "logical_and" else w.pointwise(operation, a, b)


@row("aten.logical_and.default", "aten.bitwise_and.Tensor", "aten.bitwise_and.Scalar", "aten.__and__.Tensor")
def logical_and(w, out, self, other):
    return _of_flags(w, out, (self, other), lambda a, b: _logic(w, out, "logical_and", a, b))


@row("aten.logical_or.default", "aten.bitwise_or.Tensor", "aten.bitwise_or.Scalar", "aten.__or__.Tensor")
def logical_or(w, out, self, other):
    return _of_flags(w, out, (self, other), lambda a, b: _logic(w, out, "logical_or", a, b))


@row("aten.logical_xor.default", "aten.bitwise_xor.Tensor", "aten.bitwise_xor.Scalar", "aten.__xor__.Tensor")
def logical_xor(w, out, self, other):
    return _of_flags(w, out, (self, other), lambda a, b: _logic(w, out, "ne", a, b))


@row("aten.logical_not.default", "aten.bitwise_not.default")
def logical_not(w, out, self):
    if out.dtype != "bool":
        refuse(BITS)
    return w.point("logical_not", w.cast(self, "bool"))


BITS = "bits of integers; Smelt has and, or and xor of flags and of integers that are 0 or 1, and not of flags"


def _of_flags(w, out, operands, make):
    """The result for flags, and for integers that are known to be 0 or 1, of which a mask is often made."""
    if out.dtype == "bool":
        return make(*operands)
    if not all(_is_flag(x) for x in operands):
        refuse(BITS)
    flags = [w.cast(x, "bool") if isinstance(x, Value) else bool(x) for x in operands]
    return w.cast(make(*flags), out.dtype)


def _is_flag(x):
    if not isinstance(x, Value):
        return x in (0, 1)
    least, most = x.numbers
    return least >= 0 and most <= 1


# ---- choice


@row("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")
def where(w, out, condition, self, other):
    return w.pointwise(
        "select",
        w.operand(condition, "bool", out.shape),
        w.operand(self, out.dtype, out.shape),
        w.operand(other, out.dtype, out.shape),
    )


@row("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(w, out, self, mask, value):
    return where(w, out, mask, value, self)


@row("aten.clamp.default", "aten.clamp.Tensor")
def clamp(w, out, self, min=None, max=None):
    """The derivative passes inside of numbers, and not on them; of a bound in a tensor it is that of max and min, half
    where they are equal. NaN stays."""
    x = w.operand(self, out.dtype, out.shape)
    bounds = [x for x in (("max", "gt", min), ("min", "lt", max)) if x[2] is not None]
    if not any(isinstance(bound, Value) for *_, bound in bounds):
        return _inside(w, x, bounds)
    bounds = [(kind, w.operand(bound, out.dtype, out.shape)) for kind, _, bound in bounds]
    limited = x
    for kind, bound in bounds:
        limited = w.pointwise(kind, limited, bound)
    return _between(w, limited, x, bounds[0][1], bounds[1][1]) if len(bounds) == 2 and limited.grad else limited


def _between(w, limited: Value, x: Value, low: Value, high: Value) -> Value:
    """With PyTorch's derivatives of a clamp between two tensors: half on a bound, all of it where x is both bounds."""
    x0, low0, high0 = w.stop(x), w.stop(low), w.stop(high)
    half = w.select(w.point("lt", low0, high0), 0.5, w.constant(0.0, "f32", x.shape))
    on_low, on_high = (w.select(w.point("eq", x0, bound), half, 0.0) for bound in (low0, high0))
    inside = w.cast(w.both(w.point("ge", x0, low0), w.point("le", x0, high0)), "f32")
    below = w.cast(w.both(w.point("le", low0, high0), w.point("lt", x0, low0)), "f32")
    above = w.cast(w.pointwise("logical_or", w.point("lt", high0, low0), w.point("gt", x0, high0)), "f32")
    slopes = (w.sub(inside, w.add(on_low, on_high)), w.add(below, on_low), w.add(above, on_high))
    return w.with_slopes(w.stop(limited), *zip((x, low, high), slopes))


def _inside(w, x: Value, bounds) -> Value:
    inside, limited = None, x
    for kind, comparison, bound in bounds:
        limited = w.point(kind, limited, bound)
        if x.grad:
            here = w.point(comparison, x, bound)
            inside = here if inside is None else w.both(inside, here)
    return w.select(inside, x, w.stop(limited)) if x.grad else limited


@row("aten.clamp_min.default", "aten.clamp_min.Tensor")
def clamp_min(w, out, self, min):
    return clamp(w, out, self, min, None)


@row("aten.clamp_max.default", "aten.clamp_max.Tensor")
def clamp_max(w, out, self, max):
    return clamp(w, out, self, None, max)


@row("aten.hardtanh.default")
def hardtanh(w, out, self, min_val=-1, max_val=1):
    return clamp(w, out, self, min_val, max_val)


@row("aten.relu6.default")
def relu6(w, out, self):
    return clamp(w, out, self, 0, 6)


@row("aten.prelu.default", "aten._prelu_kernel.default")
def prelu(w, out, self, weight):
    shape = weight.shape
    if weight.rank == 1 and self.rank != 1:  # by channels, of which a number has one
        shape = (weight.shape[0],) + (1,) * (self.rank - 2) if self.rank else ()
    return w.select(w.point("gt", self, 0), self, w.mul(self, w.reshape(weight, shape)))
