"""Sizes that may change, as torch.export takes them, and in what other form it asks for them."""

from __future__ import annotations

import re
from typing import Any, Mapping, Optional

import torch
from torch.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

from ..errors import Error
from .arguments import checked_name, dims_of


class DynamicDims:
    """torch.export's Dims, one a name."""

    def __init__(self, bounds: Mapping[str, int], may_be_empty: bool = False) -> None:
        self.bounds = bounds
        self.may_be_empty = may_be_empty
        """Whether a size whose Dim has a minimum of 0 may be 0."""
        self.made: dict[str, Any] = {}
        self.least: dict[str, int] = {}

    def specification(self, arguments: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(given) - set(arguments))
        if unknown:
            raise Error(f"dynamic_shapes names {', '.join(unknown)}; the inputs are {', '.join(arguments)}")
        return {name: self._of(name, value, given.get(name)) for name, value in arguments.items()}

    def _of(self, name: str, value: Any, given: Any) -> Any:
        if given is None:
            return torch.utils._pytree.tree_map(lambda _: None, value)
        if isinstance(value, (Mapping, list, tuple)):
            _check_parts(name, value, given)
            keys = value.keys() if isinstance(value, Mapping) else range(len(value))
            parts = {k: self._of(f"{name}.{k}", value[k], given[k]) for k in keys}
            return parts if isinstance(value, Mapping) else type(value)(parts.values())
        dims = dims_of(name, value, given)
        return {self._axis(name, value, axis): self._dim(name, value, axis, dim) for axis, dim in dims.items()}

    @staticmethod
    def _axis(name: str, value: torch.Tensor, axis: int) -> int:
        if not -value.dim() <= axis < value.dim():
            raise Error(f"dynamic_shapes: input '{name}' has {value.dim()} dims, none of which is dim {axis}")
        return axis % value.dim()

    def _dim(self, name: str, value: torch.Tensor, axis: int, dim: Any) -> Any:
        least, dim = getattr(dim, "min", None) if not isinstance(dim, str) else None, checked_name(name, axis, dim)
        if value.shape[axis] < 2:
            raise Error(
                f"input '{name}': dim {axis}, {dim}, is {value.shape[axis]} in the sample; give a sample of at least "
                "2, since PyTorch takes 0 and 1 for sizes that never change"
            )
        if dim not in self.bounds:
            raise Error(f"the size {dim} has no bound: give max={{'{dim}': ...}}, the largest that is to run")
        if value.shape[axis] > self.bounds[dim]:
            raise Error(f"input '{name}': dim {axis} is {value.shape[axis]}, and max says {dim} <= {self.bounds[dim]}")
        if isinstance(least, int) and value.shape[axis] < least:
            raise Error(f"input '{name}': dim {axis} is {value.shape[axis]}, and {dim} is at least {least}")
        if dim not in self.made:
            self.made[dim] = torch.export.Dim(dim, min=least, max=self.bounds[dim])
            if isinstance(least, int) and (least > 1 or (least == 0 and self.may_be_empty)):
                self.least[dim] = least
        return self.made[dim]

    def symbols(self, program: torch.export.ExportedProgram, arguments: dict[str, Any], shapes: Any) -> dict[Any, Any]:
        """Names of the symbols, by the inputs that have them."""
        names = {}
        specs = _specs(arguments, shapes)
        for value, spec in zip(user_values(program), specs):
            for axis, dim in (spec or {}).items():
                size = value.shape[axis]
                if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                    names[size.node.expr] = dim.__name__
                elif isinstance(size, torch.SymInt):
                    names.update({symbol: f"{_root(dim)}_unit" for symbol in size.node.expr.free_symbols})
        return names


def asks_for_empty(shapes: Any, bounds: Mapping[str, int]) -> bool:
    """Whether a size may be 0: it is a torch.export.Dim with that minimum, and in no bound of a product, which takes
    its factors to be at least 1."""
    factors = {factor for name in bounds if "*" in name for factor in name.split("*")}
    dims = torch.utils._pytree.tree_leaves(dict(shapes or {}))
    return any(getattr(dim, "min", None) == 0 and dim.__name__ not in factors for dim in dims)


def _check_parts(name: str, value: Any, given: Any) -> None:
    """Of an argument that holds several tensors."""
    keys = set(value.keys() if isinstance(value, Mapping) else range(len(value)))
    known = None
    if isinstance(given, (Mapping, list, tuple)):
        known = set(given.keys() if isinstance(given, Mapping) else range(len(given)))
    if known != keys:
        raise Error(f"dynamic_shapes: '{name}' holds {len(keys)} parts in the sample; give the dims of each, or None")


def _root(dim: Any) -> str:
    """The name T of a dim that PyTorch calls 8*_T - 7."""
    return getattr(dim, "root", dim).__name__.lstrip("_")


def _specs(value: Any, spec: Any) -> list[Optional[dict]]:
    """The named dims of each tensor, in the order of the leaves."""
    if isinstance(value, torch.Tensor):
        return [spec if isinstance(spec, dict) else None]
    if isinstance(value, Mapping):
        return [s for k in value for s in _specs(value[k], spec[k] if spec else None)]
    if isinstance(value, (list, tuple)):
        return [s for i, v in enumerate(value) for s in _specs(v, spec[i] if spec else None)]
    return []


def user_values(program: torch.export.ExportedProgram) -> list[torch.Tensor]:
    names = set(program.graph_signature.user_inputs)
    values = [n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder" and n.name in names]
    return [v for v in values if isinstance(v, torch.Tensor)]


# ---- what PyTorch suggests


def refined(message: str, shapes: Any) -> Any:
    """Lower bounds and multiples that PyTorch suggests; nothing where it wants a size to be a constant."""
    if "Suggested fixes" not in message:
        return None
    head, fixes = message.split("Suggested fixes:", 1)
    fixes = fixes.split("\n\n")[0].rstrip()  # behind an empty line comes advice
    if re.search(r"= \d+$", fixes, re.MULTILINE):
        return None
    try:
        return refine_dynamic_shapes_from_suggested_fixes(f"{head}Suggested fixes:{fixes}\n", shapes)
    except Exception:  # a suggestion that PyTorch does not read itself
        return None


def rounds(message: str, shapes: Any) -> bool:
    """Whether a size is to be of a form like 2*T or 10*T - 4 and no guard is an equality: where the code divides a size
    and rounds, PyTorch suggests the remainder that the sample happens to have. Checks at run time, and lower bounds,
    do."""
    dims = [dim for dim in torch.utils._pytree.tree_leaves(shapes) if dim is not None]
    has_remainder = any(re.search(r"[-+*]", getattr(dim, "__name__", "")) for dim in dims)
    return has_remainder and not re.search(r"generated guard .* == ", message)


def with_bounds(shapes: Any, message: str) -> Any:
    """The sizes with the lower bounds that the message names; nothing if it names none that is new."""
    guards = re.findall(r"values of (\w+) = (.*) in the specified range .* guard (\d+) <= (\S+)", message)
    least = {name: int(bound) for name, size, bound, left in guards if size == left}
    raised = {
        dim: torch.export.Dim(dim.__name__, min=least[dim.__name__], max=dim.max)
        for dim in torch.utils._pytree.tree_leaves(shapes)
        if hasattr(dim, "min") and not hasattr(dim, "root") and (dim.min or 0) < least.get(dim.__name__, 0)
    }
    return torch.utils._pytree.tree_map(lambda dim: raised.get(dim, dim), shapes) if raised else None
