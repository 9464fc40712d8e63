"""Changes of the element type."""

from __future__ import annotations

import onnx

from ..call import Known
from ..folding import fold
from ..formats import FORMATS
from ..rounding import rounded
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
    """Integers of as many bits wrap to each other."""
    own, kind = n.element(0), element(n.attribute("to"))
    whole = own.computed != "f32" and kind.computed == "i32" and own.bits == kind.bits
    n.refuse_unless(whole, f"bits of {own.name} that are read as {kind.name}")
    return Typed(n.b.cast(x, "i32"), kind.name)
