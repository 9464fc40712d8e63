"""The element types of ONNX, and in what Smelt computes them: one row each (docs/guides/onnx.md has the rules)."""

from __future__ import annotations

from typing import NamedTuple, Optional

import ml_dtypes
import numpy
from onnx import TensorProto

from .formats import FORMATS
from .reasons import TEXT
from .refusal import Refusal

# Integer types that no type of Smelt wraps like: the number of bits, and whether one is the sign.
WRAPPED = {"i16": (16, True), "i4": (4, True), "u4": (4, False), "i2": (2, True), "u2": (2, False)}


class Element(NamedTuple):
    """`port`: how it comes and goes; `computed`: what kernels calculate with; `stored`: what results are rounded or
    wrapped to; `host`: NumPy's type of the port, where it is not ONNX's own; `least`, `most`: what a port may hold."""

    name: str
    numpy: numpy.dtype
    port: str
    computed: str
    stored: Optional[str] = None
    host: Optional[numpy.dtype] = None
    least: Optional[int] = None
    most: Optional[int] = None

    @property
    def held(self) -> str:
        """As values are between operators."""
        return self.stored if self.is_float and self.stored else self.computed

    @property
    def is_float(self) -> bool:
        return self.computed == "f32"

    @property
    def bits(self) -> int:
        if self.name in FORMATS:
            return FORMATS[self.name].bits
        return WRAPPED[self.stored][0] if self.stored in WRAPPED else self.numpy.itemsize * 8

    @property
    def is_unsigned(self) -> bool:
        return self.name.startswith("UINT")


def _row(name: str, kind: object, *rest: object, **more: object) -> Element:
    return Element(name, numpy.dtype(kind), *rest, **more)


_INT32 = dict(least=-(2**31), most=2**31 - 1)
ELEMENTS = {
    element.name: element
    for element in (
        _row("FLOAT", numpy.float32, "f32", "f32"),
        _row("FLOAT16", numpy.float16, "f16", "f32", "f16"),
        _row("BFLOAT16", ml_dtypes.bfloat16, "f32", "f32", "bf16", numpy.dtype(numpy.float32)),
        _row("DOUBLE", numpy.float64, "f64", "f32"),
        _row("INT8", numpy.int8, "i8", "i32", "i8"),
        _row("INT16", numpy.int16, "i32", "i32", "i16", numpy.dtype(numpy.int32)),
        _row("INT32", numpy.int32, "i32", "i32"),
        _row("INT64", numpy.int64, "i64", "i32", **_INT32),
        _row("UINT8", numpy.uint8, "u8", "i32", "u8"),
        _row("UINT16", numpy.uint16, "u16", "i32", "u16"),
        _row("UINT32", numpy.uint32, "i32", "i32", "u32", numpy.dtype(numpy.int32)),
        _row("UINT64", numpy.uint64, "i32", "i32", "u64", numpy.dtype(numpy.int32), 0, 2**32 - 1),
        _row("INT4", ml_dtypes.int4, "i8", "i32", "i4", numpy.dtype(numpy.int8)),
        _row("UINT4", ml_dtypes.uint4, "i8", "i32", "u4", numpy.dtype(numpy.int8)),
        _row("INT2", ml_dtypes.int2, "i8", "i32", "i2", numpy.dtype(numpy.int8)),
        _row("UINT2", ml_dtypes.uint2, "i8", "i32", "u2", numpy.dtype(numpy.int8)),
        _row("BOOL", numpy.bool_, "bool", "bool"),
        *(_row(name, kind.numpy, "f32", "f32", host=numpy.dtype(numpy.float32)) for name, kind in FORMATS.items()),
    )
}

FLOAT, INT32, INT64, BOOL = (ELEMENTS[name] for name in ("FLOAT", "INT32", "INT64", "BOOL"))
WIDE = (INT64, ELEMENTS["UINT32"], ELEMENTS["UINT64"])
"""Integers that 32 bits and a sign may not hold. Those of UINT64 have 64 bits without one: a number below 0 stands for
one from 2^63 on."""


def element(code: int, doubles: bool = True) -> Element:
    """By ONNX's number; a Refusal where Smelt has no type for it."""
    if code not in TensorProto.DataType.values():
        raise Refusal(f"the element type of number {code}, which onnx does not know")
    name = TensorProto.DataType.Name(code)
    if name not in ELEMENTS:
        raise Refusal(f"the element type {name}{': ' + TEXT if name == 'STRING' else ''}")
    if name == "DOUBLE" and not doubles:
        raise Refusal("the element type DOUBLE (doubles=True computes it in FLOAT)")
    return ELEMENTS[name]


def element_of(dtype: numpy.dtype) -> Element:
    for row in ELEMENTS.values():
        if row.numpy == dtype:
            return row
    raise Refusal(f"the element type {dtype}")
