"""What the caller of compile_module gives, looked at before PyTorch sees it: a fault is an error of that argument."""

from __future__ import annotations

import numbers
import re
from typing import Any, Iterable, Iterator, Mapping, Optional

import torch

from ..errors import Error

WORD = re.compile("[A-Za-z_][A-Za-z0-9_]*")
RESERVED = {"nan", "inf"}
"""Words that the text form takes for numbers."""
UNKNOWN = "?"
"""What dynamic_shapes has in place of a name, which is an error of its own."""


def checked_bounds(bounds: Optional[Mapping[str, int]], shapes: Optional[Mapping[str, Any]]) -> dict[str, int]:
    """`max`: bounds of sizes that dynamic_shapes names, or of products of these. Those of other sizes are left out, so
    that modules with and without a length can be given the same bounds; a size without any is an error later."""
    if not isinstance(bounds, (Mapping, type(None))):
        raise Error(f'max: a {type(bounds).__name__}, expected a mapping of sizes to bounds, such as {{"B": 32}}')
    names = set(_names(shapes))
    for name, upper in (bounds or {}).items():
        _check_bound(name, upper, names)
    return {n: int(upper) for n, upper in (bounds or {}).items() if UNKNOWN in names or "*" in n or n in names}


def _check_bound(name: Any, upper: Any, names: set[str]) -> None:
    if not isinstance(name, str):
        raise Error(f"max: {name!r}, expected the name of a size, such as \"B\"")
    unknown = [factor for factor in name.split("*") if factor not in names] if "*" in name else []
    if unknown and UNKNOWN not in names:
        there = ", ".join(sorted(names)) or "none"
        raise Error(f"max: dynamic_shapes names no size '{unknown[0]}'; it names {there}")
    if isinstance(upper, bool) or not isinstance(upper, numbers.Integral):
        raise Error(f"max: '{name}': {upper!r}, expected a whole number")
    if not 1 <= upper < 2**31:
        raise Error(f"max: '{name}': {upper}, expected a bound of at least 1, and below 2^31")


def _names(tree: Any) -> Iterator[str]:
    """Of sizes, wherever they are in dynamic_shapes."""
    if isinstance(tree, Mapping):
        for each in tree.values():
            yield from _names(each)
    elif isinstance(tree, (list, tuple)):
        for each in tree:
            yield from _names(each)
    elif tree is not None:
        yield name_of_size(tree) or UNKNOWN


def name_of_size(dim: Any) -> Optional[str]:
    """Of a name, or of a torch.export.Dim."""
    return dim if isinstance(dim, str) else getattr(dim, "__name__", None)


# ---- the sample


def check_sample(sample: Any) -> None:
    if not isinstance(sample, (torch.Tensor, tuple, list, Mapping)):
        raise Error(
            f"the sample is a {type(sample).__name__}; expected forward's arguments: a mapping by name, a tuple, or a "
            "tensor"
        )
    for leaf in torch.utils._pytree.tree_leaves(sample):
        if isinstance(leaf, torch.Tensor) or not hasattr(leaf, "__array__"):
            continue
        raise Error(f"the sample holds a {type(leaf).__name__}; expected tensors: give torch.from_numpy(x)")


def check_names(inputs: Iterable[str], taken: str) -> None:
    """An input is given by its name, as this option of a session's run or step is."""
    if taken in inputs:
        raise Error(
            f"forward's argument '{taken}' has the name of an option of the session: give a module around this one, "
            "whose argument has another name"
        )


# ---- the sizes that may change


def check_shapes(shapes: Any) -> None:
    if not isinstance(shapes, (Mapping, type(None))):
        raise Error(
            f"dynamic_shapes: a {type(shapes).__name__}, expected a mapping of forward's arguments to their dims, such "
            'as {"x": {0: "B"}}'
        )


def dims_of(name: str, value: Any, given: Any) -> dict[int, Any]:
    """The dims of one tensor by their places, without those that stay."""
    if not isinstance(value, torch.Tensor):
        raise Error(f"dynamic_shapes: '{name}' is a {type(value).__name__} in the sample; a tensor alone has dims")
    if isinstance(given, str) or not isinstance(given, (Mapping, list, tuple)):
        raise Error(f'dynamic_shapes: input \'{name}\': {given!r}, expected its dims, such as {{0: "B"}}')
    dims = given if isinstance(given, Mapping) else dict(enumerate(given))
    for axis in dims:
        if isinstance(axis, bool) or not isinstance(axis, numbers.Integral):
            raise Error(f"dynamic_shapes: input '{name}': {axis!r} is no place of a dim, such as 0")
    return {int(axis): dim for axis, dim in dims.items() if dim is not None}


def checked_name(name: str, axis: int, dim: Any) -> str:
    word = name_of_size(dim)
    if not isinstance(word, str) or not WORD.fullmatch(word) or word in RESERVED:
        raise Error(
            f"dynamic_shapes: dim {axis} of input '{name}': expected the name of a size, such as \"B\", of letters, "
            f"digits and _, given {dim!r}"
        )
    return word
