"""Preparation of Dynamo's graphs for the backend: names of arguments, and removal of wrappers and transforms."""

from __future__ import annotations

import copy
import re
from typing import Any, Mapping

import torch

from ..errors import Error
from .process import one_at_a_time, same_state

_WRAPPERS = ("tag_activation_checkpoint", "wrap_activation_checkpoint", "wrap", "invoke_subgraph")
"""Higher-order operations with the results of the graph that they call: (graph, *arguments)."""
_PARTS = re.compile(r"""\['?\"?([^\]'\"]+)['\"]?\]|\.(\w+)""")


def argument_names(graph: torch.fx.GraphModule) -> list[str]:
    """Returns distinct words for the arguments, as the code has them: "x" for L['x'], "layer_weight" for a parameter of
    self.layer."""
    names: list[str] = []
    for node in (n for n in graph.graph.nodes if n.op == "placeholder"):
        word = _word(_source(node) or str(node.target))
        while word in names:
            word += "_"
        names.append(word)
    return names


def _source(node: torch.fx.Node) -> str:
    source = getattr(node.meta.get("grapharg"), "source", None)
    name = getattr(source, "name", "")
    return str(name() if callable(name) else name)


def _word(source: str) -> str:
    parts = [a or b for a, b in _PARTS.findall(source)] or [source]
    skipped = ("self", "_modules", "_parameters", "_buffers")
    kept = [p for p in parts if p not in skipped] or parts
    word = re.sub(r"\W+", "_", "_".join(kept)).strip("_")
    return word if word and not word[0].isdigit() else f"input_{word}"


def without_wrappers(graph: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """Returns a copy that calls the graphs of wrappers itself, or the graph where it has none. Checkpointing only
    changes when values are computed, which a plan decides by itself."""
    if not any(_is_wrapper(n) for part in parts_of(graph) for n in part.graph.nodes):
        return graph
    graph = copy.deepcopy(graph)
    for part in parts_of(graph):
        for node in [n for n in part.graph.nodes if _is_wrapper(n)]:
            _call_directly(part, node)
        part.recompile()
    return graph


# ---- torch.func


def uses_transforms(graph: torch.fx.GraphModule) -> bool:
    """Returns whether it has transforms of torch.func, such as grad and vmap."""
    return any("_functorch" in str(getattr(n.target, "__module__", "")) for n in graph.graph.nodes)


class _Traced(torch.nn.Module):
    def __init__(self, graph: torch.fx.GraphModule, names: list[str]) -> None:
        super().__init__()
        self.graph = graph
        self.names = names

    def forward(self, **tensors: torch.Tensor) -> Any:
        return self.graph(*(tensors[name] for name in self.names))


def transformed(module: torch.nn.Module, sample: Mapping[str, torch.Tensor]) -> torch.nn.Module:
    """Returns the module as operations without transforms, through which torch.export does not trace."""
    from torch.fx.experimental.proxy_tensor import make_fx  # imported here, since that takes long

    names = list(sample)
    for part in parts_of(module):
        for node in part.graph.nodes:
            if str(node.target) in ("autograd_function_apply", "<built-in function _set_grad_enabled>"):
                raise Error(f"transforms of torch.func next to {_SPOKEN[str(node.target)]} cannot be traced together")
    given = [x.detach() for x in sample.values()]
    with one_at_a_time(), same_state():
        traced = make_fx(lambda *tensors: module(**dict(zip(names, tensors))), tracing_mode="symbolic")(*given)
    _without_prims(traced)
    return _Traced(traced, names)


def _without_prims(graph: torch.fx.GraphModule) -> None:
    """Replaces operations of prims, which forward differentiation writes and PyTorch has no derivatives of, by those of
    aten with the same name and tensors alone."""
    for node in graph.graph.nodes:
        if not str(node.target).startswith("prims."):
            continue
        operation = getattr(torch.ops.aten, str(node.target).split(".")[1], None)
        if operation and all(str(a.type) == "Tensor" for a in node.target._schema.arguments):
            node.target = operation
    graph.recompile()


_SPOKEN = {
    "autograd_function_apply": "a torch.autograd.Function",
    "<built-in function _set_grad_enabled>": "torch.no_grad()",
}


def parts_of(graph: torch.nn.Module) -> list[torch.fx.GraphModule]:
    return [part for part in graph.modules() if isinstance(part, torch.fx.GraphModule)]


def _is_wrapper(node: torch.fx.Node) -> bool:
    is_call = node.op == "call_function" and isinstance(node.target, torch._ops.HigherOrderOperator)
    return is_call and node.target.name() in _WRAPPERS


def _call_directly(part: torch.fx.GraphModule, node: torch.fx.Node) -> None:
    called = next(a for a in node.args if isinstance(a, torch.fx.Node) and a.op == "get_attr")
    arguments = node.args[node.args.index(called) + 1 :]
    if node.target.name() == "invoke_subgraph":
        arguments = arguments[1:]  # behind the graph's identifier
    with part.graph.inserting_before(node):
        call = part.graph.call_module(str(called.target), tuple(arguments))
    call.meta = dict(node.meta)
    node.replace_all_uses_with(call)
    part.graph.erase_node(node)
