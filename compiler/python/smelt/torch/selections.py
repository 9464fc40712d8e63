"""Targets of ctc_loss that are selected by a mask and lie one row after another, while a module is exported.

How many there are depends on the data. Where a mask's sums are the lengths of the rows, the targets stay in rows: those
that the mask selects come first, and the loss reads as many of them as the length says.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes


class _Selected(torch.Tensor):
    """Stands for numbers.masked_select(mask) until another function than ctc_loss reads it."""

    numbers: torch.Tensor
    mask: torch.Tensor

    def read(self) -> torch.Tensor:
        return torch.masked_select(self.numbers, self.mask)


class SelectedTargets(TorchFunctionMode):
    """Replaces these functions where they are called."""

    def __init__(self) -> None:
        super().__init__()
        self.sums: list[tuple[torch.Tensor, torch.Tensor]] = []
        """Masks of rows, with the number of elements that each selects of each row."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in _SELECT and (found := _selected(*args, **kwargs)) is not None:
            return found
        if function in _LOSS and isinstance(_argument(args, kwargs, 1, "targets"), _Selected):
            args, kwargs = self._in_rows(args, kwargs)
        args, kwargs = torch.utils._pytree.tree_map_only(_Selected, _Selected.read, (args, kwargs))
        result = function(*args, **kwargs)
        if function in _SUM and _is_mask(args[0]) and _argument(args, kwargs, 1, "dim") in (-1, 1):
            self.sums.append((args[0], result))
        return result

    def _in_rows(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments of the loss, with targets in rows where the lengths are the sums of the mask."""
        selected = _argument(args, kwargs, 1, "targets")
        lengths = _argument(args, kwargs, 3, "target_lengths")
        if not any(mask is selected.mask and sums is lengths for mask, sums in self.sums):
            return args, kwargs
        order = torch.sort((~selected.mask).long(), dim=1, stable=True).indices
        rows = selected.numbers.gather(1, order)
        if len(args) > 1:
            return (args[0], rows, *args[2:]), kwargs
        return args, {**kwargs, "targets": rows}


def _argument(args: tuple, kwargs: dict[str, Any], place: int, name: str) -> Any:
    return args[place] if len(args) > place else kwargs.get(name)


def _is_mask(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.dtype == torch.bool and x.dim() == 2


def _selected(input: torch.Tensor, mask: torch.Tensor, **options: Any) -> Optional[_Selected]:
    if options or not _is_mask(mask) or input.shape != mask.shape or input.is_floating_point():
        return None
    with _disable_current_modes():
        found = torch.Tensor._make_subclass(_Selected, torch.empty(0, dtype=input.dtype))
    found.numbers, found.mask = input, mask
    return found


_SELECT = (torch.masked_select, torch.Tensor.masked_select)
_SUM = (torch.sum, torch.Tensor.sum)
_LOSS = (functional.ctc_loss, torch.ctc_loss)
