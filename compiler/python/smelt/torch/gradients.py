"""The paths of gradients in a captured module, as PyTorch's autograd has them.

torch.export keeps the values. The effects of `torch.no_grad()` are read here from the traced program before it is
decomposed, and the parameters that a loss reaches from autograd's own graph.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Any, Iterator, Mapping, Optional

import torch

from ..errors import Error
from .doubles import line_of
from .in_place import (
    DETACH,
    Change,
    called,
    changed_results,
    check_changed,
    copy_if_changed,
    copy_of,
    is_view,
    source_of,
    written_by,
)
from .process import replaced

_ONLY_SHAPES = re.compile(r"_like\.|\.new_")
"""Operations that read nothing but the shape of a tensor."""


@contextmanager
def recorded_modes() -> Iterator[None]:
    """Switches autograd on, whatever the caller's mode is, and traces `torch.inference_mode()` in the module's code as
    the gradient mode that it implies, because PyTorch traces only that mode."""
    with torch.inference_mode(False), torch.enable_grad():
        with replaced(torch.inference_mode, "__enter__", _enter), replaced(torch.inference_mode, "__exit__", _exit):
            yield


def _enter(mode: torch.inference_mode) -> None:
    mode.smelt_before = torch.is_grad_enabled()
    torch._C._set_grad_enabled(not mode.mode)


def _exit(mode: torch.inference_mode, *_: Any) -> None:
    torch._C._set_grad_enabled(mode.smelt_before)


def check_trainable(module: torch.nn.Module) -> None:
    """Refuses parameters that cannot be trained, and hooks on gradients, which only PyTorch's own backward calls."""
    for name, parameter in module.named_parameters():
        if parameter.is_inference():
            raise Error(f"parameter '{name}' was made under torch.inference_mode(), so that it cannot be trained")
        for hooks in (parameter._backward_hooks, getattr(parameter, "_post_accumulate_grad_hooks", None)):
            _refuse(f"parameter '{name}' has a hook on its gradient", hooks)
    for name, part in module.named_modules():
        for hooks in (part._backward_hooks, part._backward_pre_hooks):
            _refuse(f"module '{name or type(part).__name__}' has a hook on its backward", hooks)


def _refuse(what: str, hooks: Optional[Mapping[Any, Any]]) -> None:
    """Throws Error where there is a hook, also for one that only looks: neither can be told before it is called."""
    for hook in (hooks or {}).values():
        raise Error(f"{what}{_written(hook)}, {_NOT_CALLED}")


def _written(hook: Any) -> str:
    """ ', log_norm (train.py:12)'."""
    code = getattr(getattr(hook, "__func__", hook), "__code__", None)
    name = getattr(hook, "__qualname__", type(hook).__qualname__)
    return f", {name}" + (f" ({code.co_filename}:{code.co_firstlineno})" if code else "")


_NOT_CALLED = (
    "which a compiled step does not call: remove the hook, train through torch.compile(module, backend=\"smelt\"), which "
    "calls it, or write what it does to the gradient as a torch.autograd.Function in forward"
)


def no_hooks() -> Any:
    """Returns a context in which registering a hook on a tensor is an Error."""

    def refused(_: Any, hook: Any = None) -> None:
        raise Error(f"Tensor.register_hook in forward makes a hook on a gradient{_written(hook)}, {_NOT_CALLED}")

    return replaced(torch.Tensor, "register_hook", refused)


def detached_gradients() -> Any:
    """Returns a context in which torch.autograd.grad without create_graph=True returns constants to the loss."""
    own = torch.autograd._engine_run_backward

    def run(outputs: Any, given: Any, keep: Any, create_graph: bool, *rest: Any, **options: Any) -> Any:
        if options.get("accumulate_grad"):
            raise Error("backward() in forward adds to .grad of tensors, which a plan does not: use autograd.grad")
        found = own(outputs, given, keep, create_graph, *rest, **options)
        return found if create_graph else tuple(x if x is None else x.detach() for x in found)

    return replaced(torch.autograd, "_engine_run_backward", run)


# ---- no_grad


def stop_without_grad(program: torch.export.ExportedProgram, trained: set[str]) -> None:
    """Detaches the results of code under no_grad, which decomposition puts among the other code.

    trained: the program's inputs that may have a gradient, by the names of their nodes."""
    needing = {n for n in program.graph.nodes if n.op == "placeholder" and n.name in trained}
    _stop_in(program.graph_module, needing)


def _stop_in(module: torch.fx.GraphModule, needing: set[torch.fx.Node]) -> set[torch.fx.Node]:
    """Processes a graph and the graphs that it calls. Extends `needing`, inputs whose values have a gradient, to all
    such nodes, and returns it."""
    changes: list[Change] = []
    for node in list(module.graph.nodes):
        if node.target is torch.ops.aten.detach_.default:
            _stop_after(module, node)
            continue
        if node.target is DETACH:
            changes += copy_if_changed(module, node)
        call = called(module, node)
        if call is None:
            if _passes(node) and needing.intersection(node.all_input_nodes):
                needing.update([node, *written_by(module, node)])
            continue
        graph, operands = call
        inner = [n for n in graph.graph.nodes if n.op == "placeholder"]
        inside = {n for n, operand in zip(inner, operands) if operand in needing}
        if str(node.target) == "wrap_with_set_grad_enabled" and not node.args[0]:
            _check_changes(graph, inside)
            _detach_outputs(graph)
            for stop in changed_results(module, node):
                changes += copy_if_changed(module, stop)
        elif _stop_in(graph, inside):
            needing.add(node)
    check_changed(changes, needing)
    return needing


def _stop_after(module: torch.fx.GraphModule, node: torch.fx.Node) -> None:
    """Detaches the operand of x.detach_() from that node on."""
    tensor = node.args[0]
    with module.graph.inserting_after(node):
        stop = module.graph.call_function(DETACH, (tensor,))
    stop.meta = dict(node.meta)
    node.replace_all_uses_with(stop)
    tensor.replace_all_uses_with(stop, delete_user_cb=lambda user: user is not stop and stop < user)
    module.graph.erase_node(node)
    module.recompile()


def _passes(node: torch.fx.Node) -> bool:
    """Returns whether a gradient of the node's result may reach its operands."""
    if node.op != "call_function" or node.target is DETACH or _ONLY_SHAPES.search(str(node.target)):
        return False
    value = node.meta.get("val")
    return not isinstance(value, torch.Tensor) or value.is_floating_point()


def _detach_outputs(module: torch.fx.GraphModule) -> None:
    """Detaches all float outputs of a graph."""
    (output,) = (n for n in module.graph.nodes if n.op == "output")

    def detached(node: torch.fx.Node) -> torch.fx.Node:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or _is_outer(node):
            return node
        with module.graph.inserting_before(output):
            stop = module.graph.call_function(DETACH, (node,))
        stop.meta = dict(node.meta)
        return stop if source_of(node).op != "call_function" else copy_of(module, stop)

    output.args = torch.fx.node.map_arg(output.args, detached)
    module.recompile()


_RETURNS_OPERAND = re.compile(r"^aten\.(to|contiguous|type_as|float|double|half|bfloat16)\b")
"""Operations that return their operand itself where there is nothing to convert."""


def _is_outer(node: torch.fx.Node) -> bool:
    """Returns whether it is a tensor from outside: x.float() is x itself where x is float32. PyTorch's trace then names
    the tensor by that node also in the code behind no_grad, where x has its gradient."""
    while node.op == "call_function" and _RETURNS_OPERAND.match(str(node.target)):
        operand = node.all_input_nodes[0]
        before, after = operand.meta.get("val"), node.meta.get("val")
        if not isinstance(before, torch.Tensor) or (before.dtype, before.stride()) != (after.dtype, after.stride()):
            return False
        node = operand
    return node.op == "placeholder"


def _check_changes(module: torch.fx.GraphModule, needing: set[torch.fx.Node]) -> None:
    """Refuses changes in place of tensors that need a gradient: in PyTorch their gradient ignores the change."""
    aliases = set(needing)
    for node in module.graph.nodes:
        if aliases.intersection(written_by(module, node)):
            raise Error(
                f"{node.target} under torch.no_grad() changes a tensor in place{line_of(node)}; PyTorch's gradient "
                "ignores such a change, which a plan cannot do: make a new tensor"
            )
        if is_view(node) and aliases.intersection(node.all_input_nodes):
            aliases.add(node)


# ---- dependences, by autograd's graph


def reached_by(output: torch.Tensor, tensors: Mapping[str, torch.Tensor]) -> set[str]:
    """Returns the names of those of `tensors`, leaves of autograd's graph, that have a gradient where `output` is
    differentiated."""
    names: dict[int, list[str]] = {}
    for name, tensor in tensors.items():
        names.setdefault(id(tensor), []).append(name)
    found: set[str] = set()
    for leaf in _leaves_of(output):
        found.update(names.get(id(leaf), ()))
    return found


def _leaves_of(output: torch.Tensor) -> Iterator[torch.Tensor]:
    seen: set[Any] = set()
    work: list[Any] = [output]
    while work:
        at = work.pop()
        if isinstance(at, torch.Tensor):
            if at.grad_fn is None:
                yield at
            else:
                work.append(at.grad_fn)
        elif at is not None and at not in seen:
            seen.add(at)
            if hasattr(at, "variable"):
                yield at.variable
            else:
                work += _behind(at)


def _behind(node: Any) -> list[Any]:
    """Returns the next nodes, or of a function whose derivative was traced the tensors that it reaches."""
    reaches = getattr(node, "smelt_reaches", None)
    return list(reaches) if reaches is not None else [n for n, _ in node.next_functions]
