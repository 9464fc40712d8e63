"""Operators on single elements, of floats and of what is like them."""

from __future__ import annotations

import functools
import math

from ...ranges import INTEGERS
from .. import scalars
from ..reasons import RANDOM
from ..refusal import Refusal
from ..rows import Typed, row

# ONNX operators that are one row of scalar_ops.def, by name.
PLAIN = {
    "Abs": "abs",
    "Cos": "cos",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "Log": "log",
    "Neg": "neg",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sqrt": "sqrt",
    "Tanh": "tanh",
    "Sub": "sub",
    "Add": "add",
    "Mul": "mul",
}
COMPARED = {"Less": "lt", "LessOrEqual": "le", "Greater": "gt", "GreaterOrEqual": "ge", "Equal": "eq"}
LOGIC = {"And": "logical_and", "Or": "logical_or", "Xor": "ne", "Not": "logical_not"}

# ONNX operators composed of others: functions of smelt.onnx.scalars.
COMPOSED = {
    "Acos": scalars.acos,
    "Acosh": scalars.acosh,
    "Asin": scalars.asin,
    "Asinh": scalars.asinh,
    "Atan": scalars.atan,
    "Atanh": scalars.atanh,
    "Ceil": scalars.ceil,
    "Cosh": scalars.cosh,
    "HardSwish": scalars.hard_swish,
    "Mish": scalars.mish,
    "Reciprocal": lambda b, x: b.point("reciprocal", x),
    "Relu": lambda b, x: b.select(b.point("le", x, 0), 0, x),
    "Round": scalars.round_half_even,
    "Sinh": scalars.sinh,
    "Softplus": scalars.softplus,
    "Softsign": lambda b, x: b.div(x, b.add(b.point("abs", x), 1.0)),
    "Tan": lambda b, x: b.div(b.point("sin", x), b.point("cos", x)),
}


def _enter(name: str, operation: str, **columns: object) -> None:
    if (
        operation in ("neg", "abs", "sign", "exp", "log", "floor", "logical_not")
        or name in PLAIN
        and operation not in ("add", "sub", "mul")
    ):
        row(name, **columns)(lambda n, x: n.b.point(operation, x))
    else:
        row(name, **columns)(lambda n, x, y: n.b.point(operation, x, y))


for _name, _operation in PLAIN.items():
    _enter(_name, _operation)
for _name, _operation in (COMPARED | LOGIC).items():
    _enter(_name, _operation, out="BOOL")
for _name, _function in COMPOSED.items():
    row(_name)(functools.partial(lambda function, n, x: function(n.b, x), _function))


@row("Div")
def div(n, x, y):
    n.refuse_unless(n.element(0).is_float or x.dtype in INTEGERS, f"the element type {n.element(0).name}")
    return n.b.div(x, y)


@row("Max", "Min")
def largest(n, *xs):
    operation = n.node.op_type.lower()
    return functools.reduce(lambda a, b: n.b.point(operation, a, b), xs)


@row("Sum")
def sum_of(n, *xs):
    return functools.reduce(n.b.add, xs)


@row("Mean")
def mean_of(n, *xs):
    return n.b.div(functools.reduce(n.b.add, xs), float(len(xs)))


@row("Clip")
def clip(n, x, least, most):
    b = n.b
    least = n.attribute("min") if n.given("min") else least
    most = n.attribute("max") if n.given("max") else most
    x = x if least is None else b.point("max", x, least)
    return x if most is None else b.point("min", x, most)


@row("Where", exact=True)
def where(n, condition, x, y):
    return Typed(n.b.select(condition, x, y), n.element(1).name)


@row("Pow")
def power(n, x, y):
    return scalars.power(n.b, x, y)


@row("PRelu")
def prelu(n, x, slope):
    return n.b.select(n.b.point("lt", x, 0), n.b.mul(x, slope), x)


@row("LeakyRelu")
def leaky_relu(n, x):
    return n.b.select(n.b.point("lt", x, 0), n.b.mul(x, n.attribute("alpha", 0.01)), x)


@row("ThresholdedRelu")
def thresholded_relu(n, x):
    return n.b.select(n.b.point("le", x, n.attribute("alpha", 1.0)), 0.0, x)


@row("Elu")
def elu(n, x):
    return scalars.elu(n.b, x, n.attribute("alpha", 1.0))


@row("Celu")
def celu(n, x):
    alpha = n.attribute("alpha", 1.0)
    return n.b.select(n.b.point("lt", x, 0), n.b.mul(n.b.point("expm1", n.b.div(x, alpha)), alpha), x)


@row("Selu")
def selu(n, x):
    alpha = n.attribute("alpha", 1.6732632423543772)
    return n.b.mul(scalars.elu(n.b, x, alpha), n.attribute("gamma", 1.0507009873554805))


@row("HardSigmoid")
def hard_sigmoid(n, x):
    b = n.b
    line = b.add(b.mul(x, n.attribute("alpha", 0.2)), n.attribute("beta", 0.5))
    return b.point("max", b.point("min", line, 1.0), 0.0)


@row("Shrink")
def shrink(n, x):
    b = n.b
    bias, edge = n.attribute("bias", 0.0), n.attribute("lambd", 0.5)
    low = b.select(b.point("lt", x, -edge), b.add(x, bias), 0)
    return b.select(b.point("gt", x, edge), b.sub(x, bias), low)


@row("Gelu")
def gelu(n, x):
    return n.b.node("gelu_tanh" if n.attribute("approximate", "none") == "tanh" else "gelu", [x])


@row("Swish")
def swish(n, x):
    alpha = n.attribute("alpha", 1.0)
    if alpha == 1:
        return n.b.node("silu", [x])
    return n.b.mul(x, n.b.point("sigmoid", n.b.mul(x, alpha)))


@row("IsNaN", out="BOOL")
def is_nan(n, x):
    return n.b.point("ne", x, x)


@row("IsInf", out="BOOL")
def is_inf(n, x):
    b = n.b
    up, down = b.point("eq", x, math.inf), b.point("eq", x, -math.inf)
    if not n.attribute("detect_negative", 1):
        return up
    return b.point("logical_or", up, down) if n.attribute("detect_positive", 1) else down


@row("Binarizer", domain="ai.onnx.ml")
def binarizer(n, x):
    return n.b.cast(n.b.point("gt", x, n.attribute("threshold", 0.0)), "f32")


@row("Identity", exact=True)
def identity(n):
    return n.inputs[0]


@row("Dropout", out=None, folds=False)
def dropout(n, x, ratio):
    """In inference: nothing is dropped."""
    training = n.number(2, False) if n.has(2) else False
    ratio_is_zero = not n.has(1) and n.given("ratio") and n.attribute("ratio") == 0 or n.has(1) and n.number(1) == 0
    if training and not ratio_is_zero:
        raise Refusal(f"training_mode: {RANDOM}")
    name = n.element(0).name
    results = [Typed(x, name)]
    if len(n.node.output) > 1:
        results.append(Typed(n.b.constant(1, "bool", x.shape) if 0 not in x.shape else x, "BOOL"))
    return results


@row("Constant", out=None)
def constant(n):
    raise Refusal("a constant that is no tensor of numbers")
