"""PyTorch's element types as the importer takes them.

Smelt computes with floats of 32 bits; which type floats are stored in is the plan's option `precision`, not the
module's. So every float type is f32 in a graph; inputs and outputs have the module's types. Integers are computed in 32
bits, those of int64 in 64 where 32 may not hold them (builder/integers.py), and narrower ones wrap around at their width.
"""

from __future__ import annotations

import torch

from ..errors import Error

FLOATS = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
NARROW = {torch.int8: "i8", torch.uint8: "u8", torch.int16: "i16", torch.int32: "i32"}
"""Integers that wrap around at fewer than 64 bits."""
HALVES = {torch.float16: "f16", torch.bfloat16: "bf16"}
INTEGERS = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}


def type_in_graph(dtype: torch.dtype) -> str | None:
    """ "f32", "i32" or "bool"; None for what has none, such as complex numbers."""
    if dtype in FLOATS:
        return "f32"
    if dtype in INTEGERS:
        return "i32"
    return "bool" if dtype == torch.bool else None


def type_of_input(dtype: torch.dtype, wide_ids: bool) -> str | None:
    """An input is taken in the type that it has, so that nothing is copied: int64 is i64, checked to fit 32 bits when
    it is given, unless the graph is for commands, whose data are i32 and f32."""
    if dtype == torch.int64:
        return "i64" if wide_ids else "i32"
    if dtype in (torch.uint8, torch.int8):
        return NARROW[dtype]
    if dtype in HALVES and wide_ids:
        return HALVES[dtype]
    return type_in_graph(dtype)


def type_of_output(dtype: torch.dtype) -> str | None:
    """The type that the graph returns for an output of PyTorch's type; int16 is i32 there."""
    if dtype in HALVES:
        return HALVES[dtype]
    if dtype == torch.int64:
        return "i64"
    return NARROW[dtype] if dtype in (torch.uint8, torch.int8) else type_in_graph(dtype)


def refuse_doubles(what: str, dtype: torch.dtype) -> None:
    """Throws Error for float64, whose digits float32 does not have."""
    if dtype == torch.float64:
        raise Error(
            f"{what} is float64, and Smelt computes in float32: convert the module and its inputs with .float()"
        )


def dtype_of_input(dtype: torch.dtype, wide_ids: bool) -> torch.dtype:
    """What a tensor that is given for such an input must have."""
    by_name = {
        "i64": torch.int64,
        "i32": torch.int32,
        "u8": torch.uint8,
        "i8": torch.int8,
        "f32": torch.float32,
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "bool": torch.bool,
    }
    return by_name[type_of_input(dtype, wide_ids)]
