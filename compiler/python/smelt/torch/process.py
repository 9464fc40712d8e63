"""Contexts that leave the process and a captured module as they were, for one thread at a time."""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from contextlib import contextmanager
from typing import Any, Callable, Iterator

import torch

from ..errors import Error

_KEPT = (list, dict, set)
"""Containers in a module's attributes whose members are put back; PyTorch's own, of parameters and hooks, are such."""


def one_at_a_time() -> Any:
    """Returns the lock of Dynamo: like Dynamo, torch.export changes global state while it traces."""
    from torch._dynamo.convert_frame import compile_lock  # imported here, since that takes a second

    return compile_lock


@contextmanager
def replaced(holder: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Replaces a function of PyTorch's for this thread; other threads call the original."""
    own, thread = holder.__dict__[name], threading.get_ident()

    @functools.wraps(function)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        return (function if threading.get_ident() == thread else own)(*args, **kwargs)

    setattr(holder, name, chosen)
    try:
        yield
    finally:
        setattr(holder, name, own)


def unwrapped(module: Any) -> Any:
    """Returns the module that torch.compile, DataParallel or DistributedDataParallel was given."""
    while True:
        if "torch._dynamo" in sys.modules and isinstance(module, torch._dynamo.OptimizedModule):
            module = module._orig_mod
        elif isinstance(module, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
            module = module.module
        else:
            return module


def checked_module(module: Any) -> torch.nn.Module:
    """Returns the module without its wrappers; throws Error for one that cannot be captured."""
    module = unwrapped(module)
    if not isinstance(module, torch.nn.Module):
        raise Error(f"expected a torch.nn.Module, given a {type(module).__name__}")
    for name, part in named_parts(module):
        _check_part(f"'{name}'" if name else "the module", part)
    return module


def _check_part(where: str, part: torch.nn.Module) -> None:
    kind = type(part)
    if kind.__hash__ is None:
        raise Error(
            f"{where} is a {kind.__name__}, which has __eq__ and no __hash__; PyTorch keeps modules in sets: write "
            f"`__hash__ = torch.nn.Module.__hash__` in {kind.__name__}"
        )
    if kind.__name__ == "FullyShardedDataParallel":
        raise Error(f"{where} is a {kind.__name__}, whose parameters are parts of tensors: give the module inside")
    for name, parameter in part._parameters.items():
        if hasattr(parameter, "device_mesh"):
            raise Error(
                f"{where}: its parameter '{name}' is a {type(parameter).__name__}, a part of a tensor that several "
                "processes share; give a module that has whole tensors"
            )


def named_parts(module: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yields what named_modules does, of modules that need not be hashable."""
    seen: set[int] = set()
    work = [("", module)]
    while work:
        name, part = work.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield name, part
        inside = f"{name}." if name else ""
        work += reversed([(inside + key, child) for key, child in part._modules.items() if child is not None])


@contextmanager
def same_state() -> Iterator[None]:
    """Restores the default type, the filters of warnings and the active transforms of torch.func, which an error in a
    module's code may leave changed."""
    dtype, filters = torch.get_default_dtype(), list(warnings.filters)
    depth = torch._C._functorch.get_dynamic_layer_stack_depth()
    try:
        yield
    finally:
        torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(depth)
        if torch.get_default_dtype() != dtype:
            torch.set_default_dtype(dtype)
        if warnings.filters != filters:
            warnings.filters[:] = filters


@contextmanager
def unchanged(module: torch.nn.Module) -> Iterator[None]:
    """Restores the attributes of all parts afterwards: while it is traced, a module stores fake tensors in itself."""
    before = [(part, dict(part.__dict__), _members(part)) for _, part in named_parts(module)]
    for part, attributes, _ in before:
        if attributes.get("_compiled_call_impl") is not None:
            part._compiled_call_impl = None  # of module.compile(): the code itself is traced
    try:
        yield
    finally:
        for part, attributes, members in before:
            _put_back(part, attributes, members)


def _members(part: torch.nn.Module) -> list[tuple[Any, Any]]:
    return [(held, held.copy()) for held in part.__dict__.values() if _is_plain_container(held)]


def _is_plain_container(held: Any) -> bool:
    return isinstance(held, _KEPT) and type(held).__module__ in ("builtins", "collections")


def _put_back(part: torch.nn.Module, attributes: dict[str, Any], members: list[tuple[Any, Any]]) -> None:
    """Restores the attributes; writes nothing where nothing changed, because another thread may run the module."""
    for held, copy in members:
        if isinstance(held, dict):
            _put_back_items(held, copy)
        elif isinstance(held, set):
            held.intersection_update(copy), held.update(copy)
        elif len(held) != len(copy) or any(a is not b for a, b in zip(held, copy)):
            held[:] = copy
    _put_back_items(part.__dict__, attributes)


def _put_back_items(held: dict, copy: dict) -> None:
    if len(held) == len(copy) and all(a is b and held[a] is copy[b] for a, b in zip(held, copy)):
        return
    held.clear()
    held.update(copy)
