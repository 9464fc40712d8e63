"""The dims of batches that change from batch to batch, and their bounds, as compile_module takes them."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Optional

import torch

_NAMES = "TSUVW"


def _length(value: Any) -> Optional[int]:
    """The length of a sequence of a row; None for numbers and texts."""
    if isinstance(value, torch.Tensor):
        return value.shape[0] if value.dim() > 0 else None
    return len(value) if isinstance(value, (list, tuple)) or hasattr(value, "__array__") and value.ndim > 0 else None


class Lengths:
    """The lengths of the sequences of a dataset by column. Columns with the same lengths in every row have one name."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        by_column: dict[str, list[int]] = {}
        for row in rows:
            for column, value in row.items():
                if (length := _length(value)) is not None:
                    by_column.setdefault(column, []).append(length)
        self._names: dict[str, str] = {}
        self._longest: dict[str, int] = {}
        known: dict[tuple[int, ...], str] = {}
        for column, lengths in by_column.items():
            name = known.setdefault(tuple(lengths), _NAMES[min(len(known), len(_NAMES) - 1)])
            self._names[column], self._longest[name] = name, max(lengths)
        self._changing = {known[lengths] for lengths in known if len(set(lengths)) > 1}

    def name_of(self, column: str, size: int, batch: Mapping[str, torch.Tensor]) -> Optional[str]:
        """The name of the second dim of an input of a batch. An input that a collator makes has that of the labels if it
        is of a decoder, and else that of the first column with its size."""
        if column in self._names:
            return self._names[column]
        if column.startswith("decoder_") and "labels" in self._names:
            return self._names["labels"]
        same = (c for c in self._names if c in batch and batch[c].dim() > 1 and batch[c].shape[1] == size)
        first = next(same, None)
        return None if first is None else self._names[first]

    def changes(self, name: str) -> bool:
        return name in self._changing

    def key(self, batch: Mapping[str, torch.Tensor]) -> tuple[Any, ...]:
        """Equal for datasets whose batches one plan can run: the bounds of the sizes that change, and the others."""
        sizes = {
            column: (self.name_of(column, t.shape[1], batch), t.shape[1]) for column, t in batch.items() if t.dim() > 1
        }
        return tuple((c, self._longest[n] if n in self._changing else size) for c, (n, size) in sizes.items())

    def longest(self, name: str) -> int:
        return self._longest[name]


def changing_dims(
    batch: Mapping[str, torch.Tensor], rows: int, lengths: Lengths, multiple: int
) -> tuple[dict[str, dict[int, str]], dict[str, int]]:
    """dynamic_shapes and max of compile_module for batches of at most `rows` rows. `multiple`: that to which a collator
    pads."""
    shapes: dict[str, dict[int, str]] = {}
    bounds = {"B": rows} if rows > 1 else {}
    for column, tensor in batch.items():
        dims = {0: "B"} if rows > 1 else {}
        name = lengths.name_of(column, tensor.shape[1], batch) if tensor.dim() > 1 else None
        if name is not None and lengths.changes(name):
            dims[1] = name
            padded = -(-lengths.longest(name) // multiple) * multiple
            bounds[name] = max(bounds.get(name, 0), padded, tensor.shape[1])
        shapes[column] = dims
    return shapes, bounds
