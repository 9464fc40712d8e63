"""float64 inside of a module, which a plan computes in float32.

What depends on no input, such as the frequencies of a rotary embedding, is computed here in float64 by PyTorch itself and
becomes a constant. The rest is found, so that the caller is warned of it.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Iterable, Mapping

import torch

from .dims import expression
from .registry import name_of

MOST_ELEMENTS = 2**22
"""Larger constants are computed by the plan."""
MOST_NAMED = 4
_MOVES = frozenset(
    "_to_copy alias as_strided broadcast_to cat clone constant_pad_nd contiguous copy detach diagonal empty expand fill "
    "flip full full_like gather index index_select lift_fresh_copy ones_like permute repeat reshape roll scalar_tensor "
    "select slice split split_with_sizes squeeze stack t to transpose type_as unbind unfold unsqueeze view where zeros_like".split()
)
"""Operations that only move numbers, or convert them."""


def folded(graph: torch.fx.Graph, known: Mapping[torch.fx.Node, torch.Tensor]) -> dict[torch.fx.Node, torch.Tensor]:
    """Returns the values of all nodes that are computed in float64 from constants alone, or whose sizes depend on the
    numbers in constants (nonzero), and of the nodes that follow from them alone. `known`: constants that are inputs or
    attributes of the graph."""
    values = _Values(known)
    for node in graph.nodes:
        if values.is_constant(node) and (_is_of_doubles(node) or torch.Tag.dynamic_output_shape in node.target.tags):
            values.evaluate(node)
    for node in graph.nodes:
        if values.is_constant(node) and any(source in values.found for source in node.all_input_nodes):
            values.evaluate(node)
    return values.found


class _Values:
    def __init__(self, known: Mapping[torch.fx.Node, torch.Tensor]) -> None:
        self._known = known
        self._constant: dict[torch.fx.Node, bool] = {}
        self.found: dict[torch.fx.Node, torch.Tensor] = {}

    def is_constant(self, node: torch.fx.Node) -> bool:
        """Whether it is an operation of constants alone, whose sizes are known."""
        if node not in self._constant:
            self._constant[node] = self._computable(node)
        return self._constant[node]

    def _computable(self, node: torch.fx.Node) -> bool:
        target, value = node.target, node.meta.get("val")
        if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
            return False
        if target._schema.is_mutable or torch.Tag.nondeterministic_seeded in target.tags:
            return False
        sizes = list(map(expression, value.shape)) if isinstance(value, torch.Tensor) else [None]
        if not all(isinstance(size, int) for size in sizes):
            return False
        sources = node.all_input_nodes
        return math.prod(sizes) <= MOST_ELEMENTS and all(x in self._known or self.is_constant(x) for x in sources)

    def evaluate(self, node: torch.fx.Node) -> torch.Tensor:
        if node in self._known:
            return self._known[node]
        if node not in self.found:
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), self.evaluate)
            with torch.no_grad():
                self.found[node] = node.target(*args, **kwargs)
        return self.found[node]


def _is_of_doubles(node: torch.fx.Node) -> bool:
    return any(_dtype(x) == torch.float64 for x in (node, *node.all_input_nodes))


def _dtype(node: torch.fx.Node) -> Any:
    value = node.meta.get("val")
    return value.dtype if isinstance(value, torch.Tensor) else None


def is_computed_in_doubles(node: torch.fx.Node, constants: Iterable[torch.fx.Node]) -> bool:
    """Whether PyTorch computes the node's result with digits that float32 does not have."""
    if not isinstance(node.target, torch._ops.OpOverload) or node.target.overloadpacket.__name__ in _MOVES:
        return False
    if _dtype(node) is None or _dtype(node) == torch.float64:
        return _dtype(node) is not None
    sources = [x for x in node.all_input_nodes if x not in constants]
    return not node.meta["val"].is_floating_point() and any(_dtype(x) == torch.float64 for x in sources)


def warn_of_doubles(what: str, nodes: list[tuple[torch.fx.Node, str]]) -> None:
    """Warns once of all operations that float32 has fewer digits for; each with the path of its module."""
    if not nodes:
        return
    found = [f"{name_of(node.target)}{path and ' in ' + repr(path)}{line_of(node)}" for node, path in nodes]
    places = list(dict.fromkeys(found))
    more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
    warnings.warn(
        f"{what} computes in float64 from its inputs, and the plan in float32: {'; '.join(places[:MOST_NAMED])}{more}. "
        "Its digits are kept only where no input is needed: leave out .double(), or compute such values before the call",
        stacklevel=2,
    )


def line_of(node: torch.fx.Node) -> str:
    """ ' (File "model.py", line 3, in forward)', where it is known."""
    lines = [line.strip() for line in str(node.meta.get("stack_trace") or "").splitlines() if "File" in line]
    return f" ({lines[-1]})" if lines else ""
