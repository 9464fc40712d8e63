"""Floats of 4 and 8 bits. The graph has their numbers in FLOAT; whatever makes such a number rounds to the format."""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy


class Format(NamedTuple):
    """`most`: the largest finite number; `beyond`: what larger numbers become where they do not saturate."""

    numpy: numpy.dtype
    exponent: int
    mantissa: int
    bias: int
    most: float
    beyond: float
    is_signed: bool = True
    has_negative_zero: bool = True

    @property
    def bits(self) -> int:
        return self.is_signed + self.exponent + self.mantissa

    @property
    def least_normal(self) -> float:
        """The smallest number of full precision; smaller ones are multiples of its last bit."""
        return 2.0 ** (1 - self.bias) if self.mantissa else 2.0**-self.bias

    @property
    def steps(self) -> tuple[int, ...]:
        """Powers of two whose sums are all exponents, counted from that of the least normal number."""
        most = min(self.exponent, 7)  # 2^64 is a float, and 2^128 is none
        return (64, 64) * (self.exponent > most) + tuple(2**i for i in reversed(range(most)))


def _row(name: str, *rest: object) -> Format:
    return Format(numpy.dtype(getattr(ml_dtypes, name)), *rest)


NAN, INFINITY = float("nan"), float("inf")
FORMATS = {
    "FLOAT8E4M3FN": _row("float8_e4m3fn", 4, 3, 7, 448.0, NAN),
    "FLOAT8E4M3FNUZ": _row("float8_e4m3fnuz", 4, 3, 8, 240.0, NAN, True, False),
    "FLOAT8E5M2": _row("float8_e5m2", 5, 2, 15, 57344.0, INFINITY),
    "FLOAT8E5M2FNUZ": _row("float8_e5m2fnuz", 5, 2, 16, 57344.0, NAN, True, False),
    "FLOAT8E8M0": _row("float8_e8m0fnu", 8, 0, 127, 2.0**127, NAN, False, False),
    "FLOAT4E2M1": _row("float4_e2m1fn", 2, 1, 1, 6.0, 6.0),
}

# Formats that kernels round to, and whose bits BitCast reads and writes.
WIDER = {
    "FLOAT": Format(numpy.dtype(numpy.float32), 8, 23, 127, float(numpy.finfo(numpy.float32).max), INFINITY),
    "FLOAT16": Format(numpy.dtype(numpy.float16), 5, 10, 15, 65504.0, INFINITY),
    "BFLOAT16": _row("bfloat16", 8, 7, 127, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max), INFINITY),
}
