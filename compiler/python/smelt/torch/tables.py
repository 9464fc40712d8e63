"""Constant tensors: numbers everywhere, places, small tables in the text and large ones in a file beside it."""

from __future__ import annotations

from typing import Optional

import torch

from ..text import number_text

MOST_IN_TEXT = 4096
"""Floats of a larger table are a frozen parameter, in a file beside the text. Integers stay in the text, since a
parameter may be stored in bf16."""


def splat_of(table: torch.Tensor) -> Optional[object]:
    """The number that all elements are."""
    if table.numel() == 0:
        return 0
    first = table.reshape(-1)[0]
    return first.item() if bool((table == first).all()) else None


def place_of(table: torch.Tensor) -> Optional[tuple[int, int, int]]:
    """(axis, step, begin) where integers are begin + step * index along one axis."""
    if table.is_floating_point() or table.dtype == torch.bool or table.numel() < 2:
        return None
    for axis in range(table.dim()):
        if table.shape[axis] < 2:
            continue
        row = table.movedim(axis, -1).reshape(-1, table.shape[axis])
        begin, step = int(row[0, 0]), int(row[0, 1] - row[0, 0])
        if bool((row == begin + step * torch.arange(table.shape[axis])).all()):
            return axis, step, begin
    return None


def values_text(table: torch.Tensor) -> str:
    """[1, 2, 3], such that every number reads back as it is."""
    numbers = table.reshape(-1).tolist()
    if table.is_floating_point():
        return "f[" + ", ".join(number_text(float(x)) for x in numbers) + "]"
    return "[" + ", ".join(str(int(x)) for x in numbers) + "]"
