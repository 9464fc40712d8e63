"""Forms of a model's inputs: their dims, of which some change, and what fills them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

import torch

Sizes = Mapping[str, int]
"""B rows, T tokens (or steps of a signal), S tokens of a decoder."""
Fill = Callable[[tuple[int, ...], torch.Generator], torch.Tensor]


@dataclass
class Form:
    """One way to make an argument: the names of its dims, or their sizes, and what fills it."""

    dims: tuple[Any, ...]
    fill: Fill

    def make(self, sizes: Sizes, generator: torch.Generator) -> torch.Tensor:
        return self.fill(tuple(_size(dim, sizes) for dim in self.dims), generator)


def _size(dim: Any, sizes: Sizes) -> int:
    """A number, a name, or a multiple of a name with a rest, (name, factor, rest)."""
    if isinstance(dim, tuple):
        return sizes[dim[0]] * dim[1] + dim[2]
    return sizes[dim] if isinstance(dim, str) else dim


@dataclass
class Batches:
    """Arguments by name."""

    forms: dict[str, Form] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)

    def make(self, sizes: Sizes) -> dict[str, Any]:
        generator = torch.Generator().manual_seed(sum(1000**i * n for i, n in enumerate(sizes.values())) % 2**31)
        tensors = {name: form.make(sizes, generator) for name, form in self.forms.items()}
        return {**tensors, **self.constants}

    def dynamic_shapes(self, least: Sizes) -> dict[str, Any]:
        """The dims with these names, which are at least as long as given. Lengths of signals are named after the
        multiples that they are."""
        return {
            argument: {i: _dim(dim, least) for i, dim in enumerate(form.dims) if _name(dim)[:1] in least and _name(dim)}
            for argument, form in self.forms.items()
        }

    def bounds(self, largest: Sizes) -> dict[str, int]:
        dims = [dim for form in self.forms.values() for dim in form.dims if not isinstance(dim, int)]
        return {_name(dim): _size(dim, largest) for dim in dims}

    def names(self) -> tuple[str, ...]:
        return tuple(
            sorted({_name(dim)[0] for form in self.forms.values() for dim in form.dims if not isinstance(dim, int)})
        )


def _dim(dim: Any, least: Sizes) -> Any:
    name = _name(dim)
    return torch.export.Dim(name, min=least[name]) if least.get(name, 1) > 1 else name


def _name(dim: Any) -> str:
    if isinstance(dim, tuple):
        return f"{dim[0]}{dim[1]}_{dim[2]}" if dim[1:] != (1, 0) else dim[0]
    return dim if isinstance(dim, str) else ""


# ---- what fills a tensor


def normal(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator)


def uniform(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.rand(shape, generator=generator)


def ids(limit: int, least: int = 0) -> Fill:
    return lambda shape, generator: torch.randint(min(least, limit - 1), limit, shape, generator=generator)


def with_image(text: Fill, token: int, count: int) -> Fill:
    """An image's tokens behind the first token of the text."""

    def fill(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
        found = text(shape, generator)
        found[:, 1 : 1 + count] = token
        return found

    return fill


def padding(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Ones, and zeros in the last third of the first row."""
    mask = torch.ones(shape, dtype=torch.int64)
    mask[0, ..., shape[-1] - shape[-1] // 3 :] = 0
    return mask


def boolean_padding(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return padding(shape, generator).bool()


def ones(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.ones(shape, dtype=torch.int64)


def zeros(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int64)


def positions(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.arange(shape[-1]).expand(shape).clone()


def boxes(limit: int) -> Fill:
    """x0 <= x1 and y0 <= y1, below the limit."""

    def fill(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
        corners = torch.randint(0, limit // 2, (*shape[:-1], 2), generator=generator)
        extents = torch.randint(1, limit // 2, (*shape[:-1], 2), generator=generator)
        return torch.cat([corners, corners + extents], -1)

    return fill
