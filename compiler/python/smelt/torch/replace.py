"""The layers of a model in place of which compiled ones run, without another line of the model's code."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional

import torch

from ..errors import Error
from .backend import smelt_backend


def repeated_layers(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """The members of the outermost lists whose members are all of one class and have parameters."""
    inside: list[str] = []
    for name, part in model.named_modules():
        if any(name.startswith(outer + ".") for outer in inside) or not isinstance(part, torch.nn.ModuleList):
            continue
        kinds = {type(layer) for layer in part}
        if len(kinds) == 1 and len(part) > 1 and all(any(True for _ in layer.parameters()) for layer in part):
            inside.append(name)
            yield from ((f"{name}.{i}", layer) for i, layer in enumerate(part))


def replace_layers(
    model: torch.nn.Module,
    *,
    max: Optional[Mapping[str, int]] = None,
    layers: Optional[list[str]] = None,
    **options: Any,
) -> list[str]:
    """Compiles the repeated layers of a model in place, and returns their names. Parameters, state_dict and the code
    around the layers stay as they are, and so does training; layers alike share plans.

    max: bounds of the sizes that change, in their order, such as {"B": 32, "T": 512}; layers: names of modules, where
    they are to be others. The other options are those of the backend "smelt".
    """
    chosen = dict(repeated_layers(model) if layers is None else ((n, model.get_submodule(n)) for n in layers))
    if not chosen:
        raise Error(f"{type(model).__name__} has no list of layers of one class: name them with layers=[...]")
    for layer in chosen.values():
        layer.compile(backend=smelt_backend, dynamic=True, options={"max": dict(max or {}), **options})
    return list(chosen)
