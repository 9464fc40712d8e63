"""chunk, split and tensor_split of a size that may change, while a module is exported.

PyTorch takes the number of parts for a constant and with it the size. Here the number is the sample's, the parts'
sizes follow from the size, and where that number itself follows from the size, that it stays is a condition on runs.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Optional, Union

import sympy
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._sympy.functions import FloorDiv

Size = Union[int, torch.SymInt]


class Splits(TorchFunctionMode):
    """Takes these functions apart where the size may change; `conditions` are equations of PyTorch's expressions."""

    def __init__(self) -> None:
        super().__init__()
        self.conditions: list[sympy.Basic] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        split = _SPLITS.get(function)
        if split is not None and (parts := split(self, *args, **kwargs)) is not None:
            return parts
        return function(*args, **kwargs)

    def chunk(self, input: torch.Tensor, chunks: int, dim: int = 0) -> Optional[tuple]:
        """Parts of ceil(size / chunks), the last of what is left."""
        size = input.shape[dim]
        if not isinstance(size, torch.SymInt) or not isinstance(chunks, int) or chunks < 1:
            return None
        return self._of_equal(input, (size + (chunks - 1)) // chunks, dim)

    def split(self, tensor: torch.Tensor, split_size_or_sections: Any, dim: int = 0) -> Optional[tuple]:
        sizes, length = (split_size_or_sections, tensor.shape[dim])
        if not isinstance(sizes, (int, torch.SymInt)) or not any(isinstance(s, torch.SymInt) for s in (sizes, length)):
            return None
        return self._of_equal(tensor, sizes, dim)

    def _of_equal(self, x: torch.Tensor, part: Size, dim: int) -> Optional[tuple]:
        size = x.shape[dim]
        number, length, each = _hint(size), _expression(size), _expression(part)
        if number < 1 or _hint(part) < 1:
            return None
        count = -(-number // _hint(part))
        self.conditions.append(sympy.Eq(FloorDiv(length + each - 1, each), count))
        ends = [part * i for i in range(1, count)] + [size]
        return tuple(x.narrow(dim, begin, end - begin) for begin, end in zip([0, *ends], ends))

    def tensor_split(self, input: torch.Tensor, indices_or_sections: Any, dim: int = 0) -> Optional[tuple]:
        """The first size % n parts are longer by one."""
        size, count = input.shape[dim], indices_or_sections
        if not isinstance(size, torch.SymInt) or not isinstance(count, int) or count < 1:
            return None
        parts, begin = [], 0
        for i in range(count):
            length = (size + (count - 1 - i)) // count if i < count - 1 else size - begin
            parts.append(input.narrow(dim, begin, length))
            begin = begin + length
        return tuple(parts)


def _hint(size: Size) -> int:
    return size.node.hint if isinstance(size, torch.SymInt) else size


def _expression(size: Size) -> sympy.Expr:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def _table() -> Iterator[tuple[Any, Callable]]:
    for name in ("chunk", "split", "tensor_split"):
        for owner in (torch, torch.Tensor):
            yield getattr(owner, name), getattr(Splits, name)


_SPLITS = dict(_table())
