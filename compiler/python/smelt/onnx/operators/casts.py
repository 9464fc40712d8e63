"""Changes of the element type: of numbers, and of the bits that stand for them."""

from __future__ import annotations

import onnx

from ..call import Known
from ..folding import fold
from ..formats import FORMATS, WIDER
from ..rounding import bits_of, number_of, rounded
from ..rows import Typed, row
from ..types import element

ROUNDINGS = ("saturate", "round_mode")
"""Attributes of casts to floats of 4 and 8 bits."""


@row("Cast", "CastLike", out=None)
def cast(n):
    kind = n.element(1) if n.node.op_type == "CastLike" else element(n.attribute("to"), n.importer.doubles)
    if isinstance(n.inputs[0], Known):
        folded = cast_known(n, kind)
        if folded is not None:
            return folded[0]._replace(inputs=n.inputs[0].inputs)
    return cast_to(n, n.x(0), kind)


def cast_known(n, kind):
    code = onnx.TensorProto.DataType.Value(kind.name)
    given = {name: n.attribute(name) for name in ROUNDINGS if n.given(name)}
    node = onnx.helper.make_node("Cast", n.node.input[:1], n.node.output, to=code, **given)
    return fold(node, n.inputs[:1], "", max(n.version, 13))


def cast_to(n, x, kind):
    if kind.name in FORMATS and kind is not n.element(0):
        x = n.b.cast(x, "f32")
        x = rounded(n.b, x, FORMATS[kind.name], bool(n.attribute("saturate", 1)), n.attribute("round_mode", "up"))
    if kind.name.startswith("UINT") and n.element(0).is_float:
        x = n.b.point("max", x, 0.0) if kind.bits > 16 else x
    return Typed(n.b.cast(x, kind.computed), kind.name)


@row("BitCast", out=None)
def bit_cast(n, x):
    """Wraps integers to others of as many bits; arithmetic takes floats apart and puts them together."""
    b, own, kind = n.b, n.element(0), element(n.attribute("to"))
    n.refuse_unless("DOUBLE" not in (own.name, kind.name), "bits of DOUBLE, which is computed in FLOAT")
    n.refuse_unless(own.bits == kind.bits, f"{own.bits} bits of {own.name} that are read as {kind.bits} of {kind.name}")
    formats = FORMATS | WIDER
    if own is kind:
        return Typed(x, kind.name)
    code = bits_of(b, x, formats[own.name]) if own.is_float else b.cast(x, "i32")
    if kind.is_float and code.dtype == "i64":  # UINT32, without a sign
        code = b.node("convert", [code], "i32", code.shape)
    return Typed(number_of(b, code, formats[kind.name]) if kind.is_float else code, kind.name)
