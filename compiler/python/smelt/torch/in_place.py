"""Changes in place of detached tensors in a graph of torch.export.

A detached tensor shares its numbers with its source, but not its gradient. Decomposition makes `y += z` of
y = x.detach() the values detach(x + z), which would lose the gradient of z and give x the gradient of x + z.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, Optional

import torch

from ..errors import Error
from .doubles import line_of

DETACH = torch.ops.aten.detach.default

Node = torch.fx.Node


class Change(NamedTuple):
    """A change in place of a detached tensor whose source is read afterwards."""

    node: Node
    at: Node
    """The same node, or that in the graph that it calls."""
    sources: list[Node]
    """The tensors with the same numbers that are not made of the detached one."""


def called(module: torch.fx.GraphModule, node: Node) -> Optional[tuple[torch.fx.GraphModule, list[Any]]]:
    """Returns the graph that a higher-order operation calls, and its operands."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.HigherOrderOperator):
        return None
    for i, argument in enumerate(node.args):
        if isinstance(argument, Node) and argument.op == "get_attr":
            graph = getattr(module, str(argument.target), None)
            if isinstance(graph, torch.fx.GraphModule):
                return graph, list(node.args[i + 1 :])
    return None


def is_view(node: Node) -> bool:
    """Whether the node's result may be the numbers of its first operand; also for one of several views, as of chunk."""
    if node.target is operator.getitem and node.all_input_nodes:
        return is_view(node.all_input_nodes[0])
    return isinstance(node.target, torch._ops.OpOverload) and any(
        result.alias_info is not None for result in node.target._schema.returns
    )


def source_of(node: Node) -> Node:
    """Returns the node that made the numbers of which the node may be a view."""
    while is_view(node) and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node


def written_by(module: torch.fx.GraphModule, node: Node) -> list[Node]:
    """Returns the operands that a node changes in place."""
    if (call := called(module, node)) is not None:
        graph, operands = call
        return [x for n, x in zip(_inputs(graph), operands) if isinstance(x, Node) and _changes_inside(graph, n)]
    if not isinstance(node.target, torch._ops.OpOverload):
        return []
    arguments = zip(node.target._schema.arguments, node.args)
    return [
        value
        for each, value in arguments
        if each.alias_info is not None and each.alias_info.is_write and isinstance(value, Node)
    ]


def copy_of(module: torch.fx.GraphModule, stop: Node) -> Node:
    """Puts a copy in the place of a detached tensor whose source nothing reads after a change."""
    with module.graph.inserting_after(stop):
        copied = module.graph.call_function(torch.ops.aten.clone.default, (stop,))
    copied.meta = dict(stop.meta)
    stop.replace_all_uses_with(copied, delete_user_cb=lambda user: user is not copied)
    module.recompile()
    return copied


def copy_if_changed(module: torch.fx.GraphModule, stop: Node) -> list[Change]:
    """Makes changes in place of a detached tensor those of a copy where its source is not read afterwards, and returns
    the other changes, which check_changed refuses if a gradient would be lost."""
    own = [stop, *_views_of(stop, through=False)]
    changes = _changes_of(module, own)
    if not changes:
        return []
    first, made = changes[0], source_of(stop)
    below = {stop, *_views_of(stop)}
    others = [node for node in (made, *_views_of(made)) if node not in below]
    late = any(user > first or user in changes for node in others for user in node.users if user not in below)
    if made.op == "call_function" and not late:
        copy_of(module, stop)
        return []
    return [Change(node, _innermost(module, node), others) for node in changes]


def check_changed(changes: list[Change], needing: set[Node]) -> None:
    """Refuses changes whose gradient, or that of the source, a plan would not have as PyTorch. `needing`: all nodes
    whose values have a gradient."""
    for node, at, sources in changes:
        if needing.intersection(sources) or needing.intersection(node.all_input_nodes):
            raise Error(
                f"{at.target} changes a detached tensor in place{line_of(at)}, and so the tensor that it was "
                "detached from, whose gradient ignores the change in PyTorch, which a plan cannot do: change a copy, "
                "x.detach().clone()"
            )


def changed_results(module: torch.fx.GraphModule, node: Node) -> list[Node]:
    """Puts views of the operands in the place of those results of a called graph that are such views and are changed in
    place by its caller. Returns the last nodes of these views."""
    graph, operands = called(module, node) or (module, [])
    (output,) = (n for n in graph.graph.nodes if n.op == "output")
    given, made = dict(zip(_inputs(graph), operands)), []
    for result in [user for user in node.users if user.target is operator.getitem]:
        inside = output.args[0][result.args[1]]
        if _repeats(inside, given) and _changes_of(module, [result, *_views_of(result)]):
            made.append(_repeated(module, inside, given, result))
            result.replace_all_uses_with(made[-1])
    return made


def _repeats(view: Any, given: dict[Node, Node]) -> bool:
    """Whether a value is a view of an input, and reads no other value on the way to it, such as a size."""
    while isinstance(view, Node) and is_view(view) and len(view.all_input_nodes) == 1:
        view = view.all_input_nodes[0]
    return isinstance(view, Node) and view in given


def _repeated(module: torch.fx.GraphModule, view: Node, given: dict[Node, Node], after: Node) -> Node:
    """Copies a view of an input, and the views on the way to it, from a graph to its caller."""
    if view in given:
        return given[view]
    base = _repeated(module, view.all_input_nodes[0], given, after)
    with module.graph.inserting_after(max(base, after)):
        return module.graph.node_copy(view, lambda _: base)


def _inputs(module: torch.fx.GraphModule) -> list[Node]:
    return [node for node in module.graph.nodes if node.op == "placeholder"]


def _changes_inside(module: torch.fx.GraphModule, given: Node) -> list[Node]:
    return _changes_of(module, [given, *_views_of(given)])


def _innermost(module: torch.fx.GraphModule, change: Node) -> Node:
    """The change itself, or the first one in the graph that it calls."""
    if (call := called(module, change)) is None:
        return change
    inside = (node for given in _inputs(call[0]) for node in _changes_inside(call[0], given))
    return _innermost(call[0], next(inside))


def _views_of(node: Node, through: bool = True) -> list[Node]:
    """All views of a node, with those behind another detach where `through` is true, in the order of the graph."""
    found: list[Node] = []
    for user in node.users:
        if is_view(user) and user.all_input_nodes[0] is node and (through or user.target is not DETACH):
            found += [user, *_views_of(user, through)]
    return sorted(set(found))


def _changes_of(module: torch.fx.GraphModule, nodes: list[Node]) -> list[Node]:
    """The nodes that change one of these in place, in the order of the graph."""
    users = {user for node in nodes for user in node.users}
    return sorted(user for user in users if set(nodes).intersection(written_by(module, user)))
