"""Numbers on their way into the graph, out of it, and after each operator that may leave the range of its type."""

from __future__ import annotations

import numpy

from ..builder import Value
from ..errors import Error
from .build import Builder
from .types import WIDE, WRAPPED, Element


def from_port(b: Builder, value: Value, kind: Element) -> Value:
    """Integers of 64 bits are computed in 32, as far as these hold them: `entering` refuses others. Those of UINT32 and
    UINT64 come as 32 bits."""
    if value.dtype == "i64":
        return b.node("convert", [value], "i32", value.shape)
    if kind.stored in ("u32", "u64"):
        return _unsigned(b, value)
    return b.cast(value, kind.held)


def to_port(b: Builder, value: Value, kind: Element) -> Value:
    return b.cast(value, kind.port)


def settle(b: Builder, value: Value, kind: Element, exact: bool) -> Value:
    """Rounded or wrapped to what the type holds; `exact`: the numbers are of the type already."""
    if kind.stored == "u32":
        return value if exact else _unsigned(b, value)
    if value.dtype == "i64" and kind not in WIDE and kind.computed == "i32":
        value = b.node("convert", [value], "i32", value.shape)
    if kind.is_float or exact or kind.stored in (None, "u64"):
        return b.cast(value, kind.held)
    value = b.cast(value, kind.computed)
    if kind.stored in WRAPPED:
        return _wrapped(b, value, *WRAPPED[kind.stored])
    return _through(b, value, kind.stored)


def _unsigned(b: Builder, value: Value) -> Value:
    """The lower 32 bits, without a sign."""
    value = b.cast(value, "i32")
    least, most = value.numbers
    if 0 <= least and most < 2**32:
        return value
    signed = value if value.dtype == "i32" else b.node("convert", [value], "i32", value.shape)
    with b.width(True):
        found = b.select(b.point("lt", signed, 0), b.add(b.widened(signed), 2**32), b.widened(signed))
    return b.known(found, (0, 2**32 - 1))


def _wrapped(b: Builder, value: Value, bits: int, is_signed: bool) -> Value:
    low = b.sub(value, b.mul(b.floor_div(value, 2**bits), 2**bits))
    return b.select(b.point("ge", low, 2 ** (bits - 1)), b.sub(low, 2**bits), low) if is_signed else low


def _through(b: Builder, value: Value, stored: str) -> Value:
    return b.node("convert", [b.node("convert", [value], stored, value.shape)], value.dtype, value.shape)


def entering(array: numpy.ndarray, kind: Element, name: str) -> numpy.ndarray:
    """In the type of the plan's input; only what keeps every number is done."""
    for bound, holds in ((kind.least, numpy.greater_equal), (kind.most, numpy.less_equal)):
        if bound is not None and array.size and not holds(array, bound).all():
            raise Error(
                f"input '{name}': numbers outside of [{kind.least}, {kind.most}], in which {kind.name} is computed"
            )
    return numpy.ascontiguousarray(array if kind.host is None else array.astype(kind.host)).reshape(array.shape)


def leaving(array: numpy.ndarray, kind: Element, name: str) -> numpy.ndarray:
    """In ONNX's type, to which integers wrap around."""
    return array.astype(kind.numpy, copy=False)
