"""Hooks on gradients in Dynamo's graphs, as functions with a backward of their own."""

from __future__ import annotations

import copy
from typing import Any

import torch

from ..errors import Error
from .doubles import line_of
from .graphs import parts_of


class _Hooked(torch.autograd.Function):
    """Returns its operand; its backward is the hook."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, hook: Any, *free: Any) -> torch.Tensor:
        ctx.hook = hook
        ctx.tensors = [isinstance(value, torch.Tensor) for value in free]
        ctx.numbers = [value for value in free if not isinstance(value, torch.Tensor)]
        ctx.save_for_backward(*(value for value in free if isinstance(value, torch.Tensor)))
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        tensors, numbers = iter(ctx.saved_tensors), iter(ctx.numbers)
        free = [next(tensors) if is_tensor else next(numbers) for is_tensor in ctx.tensors]
        changed = ctx.hook(gradient, *free)
        return (gradient if changed is None else changed, None, *(None for _ in free))


def hooked(x: torch.Tensor, hook: Any, *free: Any) -> torch.Tensor:
    return _Hooked.apply(x, hook, *free)


def with_hooks(graph: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """Returns a copy in which Tensor.register_hook is a function with a backward, or the graph where there is none:

        y = f(x)                           y = f(x)
        u = g(y)                           h = hooked(y, hook)
        v = register_hook(y, hook)         u = g(h)
        w = u * v                          w = u * h

    A hook is called with the sum of the gradients of all uses, before the hooks that are registered later."""
    if not any(_is_hook(n) for part in parts_of(graph) for n in part.graph.nodes):
        return graph
    graph = copy.deepcopy(graph)
    for part in parts_of(graph):
        for node in [n for n in part.graph.nodes if _is_hook(n)]:
            _hook(part.graph, node)
        part.recompile()
    return graph


def _is_hook(node: torch.fx.Node) -> bool:
    return node.op == "call_function" and str(node.target) == "register_hook"


def _hook(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    tensor, hook, *free = node.args
    before, tensor = tensor, _hooked_by_earlier(tensor)
    uses = [user for user in tensor.users if user is not node]
    first = min([node, *uses])
    late = [x for x in (hook, *free) if isinstance(x, torch.fx.Node) and not x < first]
    for x in [x for x in late if x.op == "get_attr"]:
        first.prepend(x)
        late.remove(x)
    if late:
        raise Error(
            f"Tensor.register_hook on '{tensor.name}'{line_of(node)}: its hook reads tensors that are made after "
            f"'{tensor.name}' is used; register the hook before the first use of '{tensor.name}'"
        )
    with graph.inserting_before(first):
        changed = graph.call_function(hooked, (tensor, hook, *free))
    changed.meta = dict(node.meta)
    tensor.replace_all_uses_with(changed, delete_user_cb=lambda user: user not in (changed, node))
    node.replace_all_uses_with(changed if before is tensor else before)
    graph.erase_node(node)


def _hooked_by_earlier(tensor: torch.fx.Node) -> torch.fx.Node:
    """Returns what the first of its hooks is on: a later hook is called with what the earlier ones return."""
    while tensor.target is hooked:
        tensor = tensor.args[0]
    return tensor
