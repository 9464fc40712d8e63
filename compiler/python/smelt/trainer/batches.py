"""Batches of a dataset: the order of an epoch, the columns that a model reads, and rows as tensors."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

import torch

from ..errors import Error

Collator = Callable[[list[dict[str, Any]]], Mapping[str, Any]]

_LABELS = ("label", "label_ids", "labels")


def default_collator(rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """Stacks columns; `label` and `label_ids` are named `labels`. Rows must have equal lengths."""
    batch = {}
    for column in rows[0]:
        values = [torch.as_tensor(row[column]) for row in rows]
        if any(value.shape != values[0].shape for value in values):
            raise Error(f"column {column}: rows of different lengths need a data_collator that pads them")
        batch["labels" if column in _LABELS else column] = torch.stack(values)
    return batch


def columns_of(model: torch.nn.Module) -> list[str]:
    """The columns of a dataset that a model can read."""
    return [*inspect.signature(model.forward).parameters, *_LABELS]


class Rows:
    """The rows of a dataset, with the columns that the model reads."""

    def __init__(self, dataset: Any, columns: Optional[Sequence[str]], what: str) -> None:
        if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
            raise Error(f"{what}: a {type(dataset).__name__}, expected a dataset with a length and an order")
        if len(dataset) == 0:
            raise Error(f"{what} has no rows")
        self.dataset, self.columns = dataset, columns

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        row = self.dataset[index]
        if not isinstance(row, Mapping):
            raise Error(f"row {index} of a dataset is a {type(row).__name__}, expected a mapping of columns to values")
        if self.columns is None:
            return row
        return {name: value for name, value in row.items() if name in self.columns}

    def __iter__(self) -> Iterator[Any]:
        """The rows in their order, one at a time."""
        return (self[index] for index in range(len(self)))

    def batches(self, order: Sequence[int], size: int, drop_last: bool = False) -> list[list[int]]:
        groups = [list(order[begin : begin + size]) for begin in range(0, len(order), size)]
        return groups[:-1] if drop_last and groups and len(groups[-1]) < size else groups


def shuffled(count: int, seed: int, epoch: int) -> list[int]:
    """The order of an epoch: that of transformers' Trainer with its seedable sampler."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed + epoch)).tolist()


def collated(rows: Rows, batches: Sequence[Sequence[int]], collator: Collator) -> Iterator[dict[str, torch.Tensor]]:
    for indices in batches:
        yield {name: torch.as_tensor(value) for name, value in collator([rows[i] for i in indices]).items()}
