"""PyTorch's element types as the importer takes them.

Smelt computes with floats of 32 bits and integers of 32 bits; which type floats are stored in is the plan's option
`precision`, not the module's. So every float type is f32 in a graph, every integer type is i32.
"""

from __future__ import annotations

import torch

FLOATS = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
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
    it is given, unless the graph is for commands, whose data are i32. Floats are float32."""
    if dtype == torch.int64:
        return "i64" if wide_ids else "i32"
    if dtype in (torch.uint8, torch.int8):
        return "u8" if dtype == torch.uint8 else "i8"
    return type_in_graph(dtype)


def dtype_of_input(dtype: torch.dtype, wide_ids: bool) -> torch.dtype:
    """What a tensor that is given for such an input must have."""
    by_name = {
        "i64": torch.int64,
        "i32": torch.int32,
        "u8": torch.uint8,
        "i8": torch.int8,
        "f32": torch.float32,
        "bool": torch.bool,
    }
    return by_name[type_of_input(dtype, wide_ids)]
