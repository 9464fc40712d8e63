"""Operations in whose place PyTorch, while it exports, runs Python code of its own that need not do what its kernel does
(its shapes differ for multi_margin_loss, and in some versions its numbers). With a row they stay whole."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

import torch
from torch._C import DispatchKey

from .registry import ROWS


def _taken_apart_by_autograd() -> list[Any]:
    names = [name.split(".") for name in ROWS if name.startswith("aten.")]
    packets = [(getattr(torch.ops.aten, packet, None), overload) for _, packet, overload in names]
    found = [getattr(packet, overload, None) for packet, overload in packets]
    return [op for op in found if DispatchKey.Autograd in getattr(op, "py_kernels", {})]


@contextmanager
def kept_whole() -> Iterator[None]:
    """Until it ends, operations with a row run PyTorch's own kernels, and are exported as they are."""
    rules = {op: op.py_kernels.pop(DispatchKey.Autograd) for op in _taken_apart_by_autograd()}
    try:
        for op in rules:
            op._dispatch_cache.clear()
        yield
    finally:
        for op, rule in rules.items():
            op.py_kernels[DispatchKey.Autograd] = rule
            op._dispatch_cache.clear()


@contextmanager
def of_any_number() -> Iterator[None]:
    """Until it ends, the shape of this loss is known without a look at how many elements there are, which depends on the
    data where a mask picks them. PyTorch asks for it where cross_entropy stays whole."""
    table, loss = torch._decomp.decomposition_table, torch.ops.aten.nll_loss.default
    kept = table.get(loss)
    table[loss] = _shape_of_nll_loss
    try:
        yield
    finally:
        table.pop(loss) if kept is None else table.update({loss: kept})


def _shape_of_nll_loss(
    self: torch.Tensor, target: torch.Tensor, weight: Any = None, reduction: int = 1, ignore_index: int = -100
) -> torch.Tensor:
    return self.new_empty(() if reduction else target.shape)
