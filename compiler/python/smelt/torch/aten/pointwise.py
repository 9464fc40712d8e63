"""Operations on single elements: most of them are a row of a table."""

from __future__ import annotations

import math
from dataclasses import replace

from ...builder import Value
from ...builder.sizes import Dim, floor_div
from ..powers import power
from ..registry import Result, refuse, row

# ---- one operand

REAL = {
    "exp": "exp",
    "expm1": "expm1",
    "log": "log",
    "log1p": "log1p",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "reciprocal": "reciprocal",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "special_expit": "sigmoid",
    "erf": "erf",
    "special_erf": "erf",
    "erfc": "erfc",
    "special_erfc": "erfc",
    "sin": "sin",
    "cos": "cos",
    "silu": "silu",
}
"""In f32, whatever the operand is."""

COMPOSITES = {"silu", "gelu", "gelu_tanh"}


def apply(w, operation: str, x: Value) -> Value:
    if operation in COMPOSITES:
        return w.node(operation, [x])
    return w.point(operation, x)


def _real_row(operation: str):
    return lambda w, out, self: apply(w, operation, w.cast(self, "f32"))


for _name, _operation in REAL.items():
    row(f"aten.{_name}.default")(_real_row(_operation))


@row("aten.neg.default")
def neg(w, out, self):
    return w.point("neg", self)


@row("aten.abs.default")
def absolute(w, out, self):
    return w.point("abs", self)


@row("aten.sign.default", "aten.sgn.default")
def sign(w, out, self):
    """Of NaN 0, as in PyTorch."""
    if self.dtype != "f32":
        return w.point("sign", self)
    return w.sub(w.cast(w.point("gt", self, 0.0), "f32"), w.cast(w.point("lt", self, 0.0), "f32"))


@row("aten.square.default")
def square(w, out, self):
    return w.mul(self, self)


@row("aten.exp2.default")
def exp2(w, out, self):
    return w.point("exp", w.mul(w.cast(self, "f32"), math.log(2)))


@row("aten.log2.default")
def log2(w, out, self):
    return w.mul(w.point("log", w.cast(self, "f32")), 1 / math.log(2))


@row("aten.log10.default")
def log10(w, out, self):
    return w.mul(w.point("log", w.cast(self, "f32")), 1 / math.log(10))


@row("aten.tan.default")
def tan(w, out, self):
    x = w.cast(self, "f32")
    return w.div(w.point("sin", x), w.point("cos", x))


@row("aten.relu.default")
def relu(w, out, self):
    """By choice and not by the maximum, whose derivative at 0 is a half; NaN stays."""
    return w.select(w.point("le", self, 0), 0, self)


@row("aten.gelu.default")
def gelu(w, out, self, approximate="none"):
    return apply(w, "gelu_tanh" if approximate == "tanh" else "gelu", self)


@row("aten.softplus.default")
def softplus(w, out, self, beta=1, threshold=20):
    scaled = w.mul(self, beta) if beta != 1 else self
    soft = soft_maximum(w, scaled)
    soft = w.div(soft, beta) if beta != 1 else soft
    return w.select(w.point("gt", scaled, threshold), self, soft)


def soft_maximum(w, x: Value) -> Value:
    """log(1 + exp(x)) without overflow. Its parts have no derivative at 0, where the function has a half."""
    tail = w.point("log1p", w.point("exp", w.point("neg", w.point("abs", x))))
    return w.with_slopes(w.add(w.point("max", x, 0.0), tail), (x, w.point("sigmoid", x)))


@row("aten.log_sigmoid.default", "aten.log_sigmoid_forward.default")
def log_sigmoid(w, out, self):
    result = w.point("neg", soft_maximum(w, w.point("neg", self)))
    return (result, result) if isinstance(out, tuple) else result


@row("aten.leaky_relu.default")
def leaky_relu(w, out, self, negative_slope=0.01):
    return w.select(w.point("gt", self, 0), self, w.mul(self, negative_slope))


@row("aten.rrelu_with_noise_functional.default")
def rrelu(w, out, self, noise, lower=1 / 8, upper=1 / 3, training=False):
    if training:
        refuse("slopes that are drawn anew for each element; eval() has the mean slope")
    return leaky_relu(w, out[0], self, (lower + upper) / 2), noise


@row("aten.elu.default")
def elu(w, out, self, alpha=1, scale=1, input_scale=1):
    below = w.select(w.point("gt", self, 0), 0, self)
    low = w.mul(w.point("expm1", w.mul(below, input_scale)), alpha)
    return w.mul(w.select(w.point("gt", self, 0), self, low), scale)


@row("aten.isnan.default")
def isnan(w, out, self):
    return w.point("ne", self, self) if self.dtype == "f32" else w.constant(False, "bool", out.shape)


@row("aten.isinf.default")
def isinf(w, out, self):
    if self.dtype != "f32":
        return w.constant(False, "bool", out.shape)
    return _is_infinite(w, self)


@row("aten.nan_to_num.default")
def nan_to_num(w, out, self, nan=None, posinf=None, neginf=None):
    most = 3.4028234663852886e38
    x = w.select(w.point("ne", self, self), nan or 0.0, self)
    x = w.select(w.point("eq", x, math.inf), most if posinf is None else posinf, x)
    return w.select(w.point("eq", x, -math.inf), -most if neginf is None else neginf, x)


# ---- two operands


def arithmetic(w, out, operation: str, a, b) -> Value:
    """In the type of the result."""
    result = w.pointwise(operation, w.operand(a, out.dtype, out.shape), w.operand(b, out.dtype, out.shape))
    return with_size(result, operation, a, b)


SIZES = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": floor_div,
}


def with_size(result: Value, operation: str, a, b) -> Value:
    """Of sizes in tensors the result is a size, too."""
    sizes = [x.size if isinstance(x, Value) else x for x in (a, b)]
    known = result.dtype == "i32" and result.shape == () and all(isinstance(x, (int, Dim)) for x in sizes)
    divides = operation == "div" and not (isinstance(sizes[1], int) and sizes[1] > 0)
    if operation not in SIZES or not known or divides:
        return result
    return replace(result, size=SIZES[operation](*sizes))


@row("aten.add.Tensor", "aten.add.Scalar")
def add(w, out, self, other, alpha=1):
    if out.dtype == "bool":
        return arithmetic(w, out, "logical_or", self, other)
    if alpha != 1:
        other = w.mul(w.operand(other, out.dtype), alpha)
    if not isinstance(other, Value) and other == 0:
        return w.operand(self, out.dtype, out.shape)
    result = arithmetic(w, out, "add", self, other)
    _move_place(result, self, other, 1)
    return result


@row("aten.sub.Tensor", "aten.sub.Scalar")
def sub(w, out, self, other, alpha=1):
    if alpha != 1:
        other = w.mul(w.operand(other, out.dtype), alpha)
    result = arithmetic(w, out, "sub", self, other)
    _move_place(result, self, other, -1)
    return result


def _move_place(result: Value, x, other, sign: int) -> None:
    """Places that are moved stay places."""
    moved = isinstance(x, Value) and x.place is not None and result.dtype == "i32"
    if moved and isinstance(other, int) and len(x.shape) == len(result.shape):
        axis, step, begin = x.place
        result.place = (axis, step, begin + sign * other)
        if isinstance(begin, int) and step >= 0:
            result.low = begin + sign * other


@row("aten.rsub.Tensor", "aten.rsub.Scalar")
def rsub(w, out, self, other, alpha=1):
    x = w.operand(self, out.dtype, out.shape)
    return arithmetic(w, out, "sub", other, w.mul(x, alpha) if alpha != 1 else x)


@row("aten.mul.Tensor", "aten.mul.Scalar")
def mul(w, out, self, other):
    if out.dtype == "bool":
        return arithmetic(w, out, "logical_and", self, other)
    return arithmetic(w, out, "mul", self, other)


@row("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor")
def div(w, out, self, other):
    return arithmetic(w, out, "div", self, other)


BINARY = {"maximum": "max", "minimum": "min", "max.other": "max", "min.other": "min"}
for _name, _operation in BINARY.items():
    _full = f"aten.{_name}" if "." in _name else f"aten.{_name}.default"
    row(_full)(lambda w, out, self, other, _operation=_operation: arithmetic(w, out, _operation, self, other))


def _of_numbers(operation: str):
    """The larger or the smaller; of a number and NaN the number."""

    def extreme(w, out, self, other):
        a, b = w.operand(self, out.dtype, out.shape), w.operand(other, out.dtype, out.shape)
        both = w.point(operation, a, b)
        if out.dtype != "f32":
            return both
        return w.select(w.point("ne", b, b), a, w.select(w.point("ne", a, a), b, both))

    return extreme


row("aten.fmax.default")(_of_numbers("max"))
row("aten.fmin.default")(_of_numbers("min"))


def _times_log(log, least: float):
    """x times the logarithm of y: 0 where x is 0, whatever y is but NaN."""

    def product(w, out, self, other):
        x, y = w.operand(self, "f32", out.shape), w.operand(other, "f32", out.shape)
        logarithm, is_zero = log(w, y), w.point("eq", x, 0.0)
        result = w.select(w.both(is_zero, w.point("eq", y, y)), 0.0, w.mul(x, logarithm))
        of_x = w.select(w.both(is_zero, w.point("le", y, -least)), 0.0, logarithm)
        return w.with_slopes(result, (x, of_x), (y, w.div(x, w.add(y, least) if least else y)))

    return product


row("aten.xlogy.Tensor", "aten.xlogy.Scalar_Self", "aten.xlogy.Scalar_Other")(
    _times_log(lambda w, y: w.point("log", y), 0.0)
)
row("aten.special_xlog1py.default", "aten.special_xlog1py.self_scalar", "aten.special_xlog1py.other_scalar")(
    _times_log(lambda w, y: w.point("log1p", y), 1.0)
)


@row("aten.sinc.default", "aten.special_sinc.default")
def sinc(w, out, self):
    x = w.mul(w.cast(self, "f32"), math.pi)
    sine, square, is_zero = w.point("sin", x), w.mul(x, x), w.point("eq", x, 0.0)
    slope = w.div(w.sub(w.mul(x, w.point("cos", x)), sine), square)
    slope = w.select(w.point("eq", square, 0.0), 0.0, slope)
    return w.with_slopes(w.select(is_zero, 1.0, w.div(sine, x)), (x, slope))


@row("aten.hardsigmoid.default")
def hardsigmoid(w, out, self):
    inside = w.both(w.point("gt", self, -3.0), w.point("lt", self, 3.0))
    return w.with_slopes(_gate(w, self), (self, w.select(inside, w.constant(1 / 6, "f32", self.shape), 0.0)))


@row("aten.hardswish.default")
def hardswish(w, out, self):
    slope = w.select(w.point("ge", self, 3.0), 1.0, w.add(w.mul(self, 1 / 3), 0.5))
    slope = w.select(w.point("le", self, -3.0), 0.0, slope)
    return w.with_slopes(w.mul(self, _gate(w, self)), (self, slope))


def _gate(w, x: Value) -> Value:
    """0 up to -3, 1 from 3 on, a line in between."""
    return w.div(w.point("min", w.point("max", w.add(x, 3.0), 0.0), 6.0), 6.0)


@row("aten.lerp.Scalar", "aten.lerp.Tensor")
def lerp(w, out, self, end, weight):
    """Begins at the nearer end, so that an infinite other end does no harm, and both ends are exact."""
    away = w.sub(end, self)

    def from_end(weight):
        return w.sub(end, w.mul(away, w.point("sub", 1.0, weight)))

    if not isinstance(weight, Value):
        return w.add(self, w.mul(away, weight)) if abs(weight) < 0.5 else w.sub(end, w.mul(away, 1.0 - weight))
    weight = w.cast(weight, "f32")
    near = w.point("lt", w.point("abs", weight), 0.5)
    return w.select(near, w.add(self, w.mul(away, weight)), from_end(weight))


@row("aten.addcmul.default")
def addcmul(w, out, self, tensor1, tensor2, value=1):
    product = w.mul(w.mul(tensor1, tensor2), value)
    return w.spread(w.add(self, product), out.shape)


@row("aten.addcdiv.default")
def addcdiv(w, out, self, tensor1, tensor2, value=1):
    return w.spread(w.add(self, w.mul(w.div(tensor1, tensor2), value)), out.shape)


@row("aten.pow.Tensor_Scalar")
def pow_scalar(w, out, self, exponent):
    return power(w, w.cast(self, out.dtype), exponent)


@row("aten.pow.Scalar")
def scalar_pow(w, out, self, exponent):
    if out.dtype == "i32":
        return whole_power(w, w.constant(self, "i32", out.shape), w.operand(exponent, "i32", out.shape))
    if self <= 0:
        return pow_tensor(w, out, self, exponent)
    return w.point("exp", w.mul(w.cast(exponent, "f32"), math.log(self)))


def whole_power(w, base: Value, exponent: Value) -> Value:
    """Of integers, by the squares that the bits of the exponent name. Below 0 it is 0 but for a base of 1 or -1, whose
    powers repeat."""
    least, most = exponent.numbers
    left, square, result = exponent, base, w.constant(1, "i32", base.shape)
    if least < 0:
        left = w.point("abs", exponent)  # which is odd where the exponent is
    for _ in range(max(most, 1).bit_length()):
        half = w.div(left, 2)
        is_odd = w.point("ne", w.sub(left, w.mul(half, 2)), 0)
        result = w.select(is_odd, w.mul(result, square), result)
        left, square = half, w.mul(square, square)
    if least >= 0:
        return result
    vanishes = w.both(w.point("lt", exponent, 0), w.point("gt", w.point("abs", base), 1))
    return w.select(vanishes, 0, result)


@row("aten.pow.Tensor_Tensor")
def pow_tensor(w, out, self, exponent):
    """As C's pow: of a base below 0 the sign is that of whole exponents that are even or odd, and NaN of others."""
    if out.dtype == "i32":
        return whole_power(w, w.operand(self, "i32", out.shape), w.operand(exponent, "i32", out.shape))
    base, power = w.operand(self, "f32", out.shape), w.operand(exponent, "f32", out.shape)
    size = w.point("exp", w.mul(power, w.point("log", w.point("abs", base))))
    is_one = w.point("logical_or", w.point("eq", power, 0.0), w.point("eq", base, 1.0))
    is_one = w.point("logical_or", is_one, w.both(w.point("eq", base, -1.0), _is_infinite(w, power)))
    size = w.select(is_one, 1.0, size)
    half = w.mul(power, 0.5)
    is_whole = w.point("eq", power, w.point("floor", power))
    is_odd = w.both(is_whole, w.point("ne", half, w.point("floor", half)))
    is_below = w.point("lt", base, 0.0)
    of_fraction = w.select(w.point("eq", base, -math.inf), size, math.nan)
    signed = w.select(w.both(is_below, w.point("logical_not", is_whole)), of_fraction, size)
    is_negative = w.point("logical_or", is_below, w.point("lt", w.point("reciprocal", base), 0.0))  # or -0
    signed = w.select(w.both(is_odd, is_negative), w.point("neg", size), signed)
    if base.grad or power.grad:
        signed = _with_slopes_of_power(w, signed, base, power)
    return signed


def _is_infinite(w, x: Value) -> Value:
    return w.point("eq", w.point("abs", x), math.inf)


def _with_slopes_of_power(w, y: Value, base: Value, power: Value) -> Value:
    """PyTorch's: by the base 0 where the exponent is 0, by the exponent 0 where the base is 0 and the exponent not
    below."""
    less = pow_tensor(w, Result("f32", y.shape, None), w.stop(base), w.sub(w.stop(power), 1.0)) if base.grad else 0.0
    of_base = w.select(w.point("eq", power, 0.0), 0.0, w.mul(power, less))
    nothing = w.both(w.point("eq", base, 0.0), w.point("ge", power, 0.0))
    of_power = w.select(nothing, 0.0, w.mul(y, w.point("log", base)))
    return w.with_slopes(y, (base, of_base), (power, of_power))


@row("aten.ldexp.Tensor")
def ldexp(w, out, self, other):
    """self times 2 to the power of other, by two halves: one power alone may be infinite or 0 before the result is."""
    x, exponent = w.operand(self, "f32", out.shape), w.operand(other, "f32", out.shape)
    half = w.point("floor", w.mul(exponent, 0.5))
    for part in (half, w.sub(exponent, half)):
        x = w.mul(x, w.point("exp", w.mul(part, math.log(2))))
    return x


@row("aten.angle.default")
def angle(w, out, self):
    """pi of what is below 0, and else 0."""
    x = w.cast(self, "f32")
    turned = w.select(w.point("lt", x, 0), math.pi, w.constant(0.0, "f32", x.shape))
    return w.select(w.point("ne", x, x), x, turned)


@row("aten.special_zeta.default", "aten.special_zeta.other_scalar", "aten.special_zeta.self_scalar")
def zeta(w, out, self, other):
    refuse("Smelt has no zeta function of Hurwitz")


# ---- the same number in another type


CONVERSIONS = (
    "aten._to_copy.default",
    "prims.convert_element_type.default",
    "aten.to.device",
    "aten.to.dtype",
    "aten.to.dtype_layout",
    "aten.to.other",
    "aten.type_as.default",
)


@row(*CONVERSIONS)
def convert(w, out, self, dtype=None, **_):
    return w.cast(self, out.dtype)


@row(
    "aten.clone.default",
    "aten.alias.default",
    "aten.lift_fresh_copy.default",
    "aten.lift_fresh.default",
    "aten.contiguous.default",
    "aten.detach_.default",
    "prims.view_of.default",
)
def same(w, out, self):
    return self


@row("aten.detach.default")
def detach(w, out, self):
    return w.stop(self)


@row("aten.copy.default")
def copy(w, out, self, src):
    return w.operand(src, out.dtype, out.shape)
