"""Parameters of a module over a session's own memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..errors import Error

if TYPE_CHECKING:
    from .session import ModuleSession


def _held(session: ModuleSession, module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Of what the plan reads the module's tensors, by name; tied ones are one tensor."""
    if not isinstance(module, torch.nn.Module):
        raise Error(f"attach: expected a torch.nn.Module, given a {type(module).__name__}")
    tensors = dict(module.named_parameters(remove_duplicate=False))
    tensors.update(module.named_buffers(remove_duplicate=False))
    aliases = session._plan.program.aliases
    missing = sorted(set(aliases) - set(tensors))
    if missing:
        raise Error(f"{type(module).__name__} has no {', '.join(missing)}: give a module of the kind that was compiled")
    return {name: tensors[name] for name in aliases}


def _fault(name: str, tensor: torch.Tensor, view: torch.Tensor) -> str | None:
    if tensor.device != view.device:
        return f"'{name}' is on {tensor.device}, the session on {view.device}: call module.to('{view.device}')"
    if tensor.dtype != view.dtype:
        return f"'{name}' is {tensor.dtype}, the session has it in {view.dtype}"
    if tensor.shape != view.shape:
        return f"'{name}' is {list(tensor.shape)}, the session has it as {list(view.shape)}"
    return None


def attach(session: ModuleSession, module: torch.nn.Module) -> None:
    """All of them, or nothing: what does not fit is one Error."""
    if states := sorted(session._plan.program.states):
        raise Error(
            f"attach: forward changes {', '.join(states)}, which the session keeps in a form of its own: take "
            "session.copy_to(module) when the module's own code shall find them"
        )
    views, aliases = session.views(), session._plan.program.aliases
    held = {name: t for name, t in _held(session, module).items() if t.is_floating_point()}
    faults = [_fault(name, tensor, views[aliases[name]]) for name, tensor in held.items()]
    if any(faults):
        raise Error(f"{type(module).__name__} cannot be attached: " + "; ".join(f for f in faults if f))
    for name, tensor in held.items():
        tensor.data = views[aliases[name]]


def detach(session: ModuleSession, module: torch.nn.Module) -> None:
    for tensor in {id(t): t for t in _held(session, module).values()}.values():
        tensor.data = tensor.data.clone()
