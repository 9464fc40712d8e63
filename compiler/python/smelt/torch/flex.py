"""torch.nn.attention.flex_attention: its score_mod and mask_mod are the body of Smelt's attention.

Both are graphs of single numbers: a score and its four places. Here the places are iotas [B,1,1,1], [1,H,1,1],
[1,1,Q,1] and [1,1,1,K], so that each number of the graph is a tensor that spreads to the scores. What depends on the
score is written in the attention's body, the rest outside, where the body reads it or computes it again.
"""

from __future__ import annotations

import copy
import math
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Iterator
from unittest import mock

import torch
from torch.nn.attention import flex_attention as flex

from ..builder import Value
from ..builder.sizes import broadcast_shapes
from .aten.attention import AttentionBody
from .registry import ROWS, Result, bound_arguments, name_of, refuse, result_of
from .writer import Writer

RANK = 4
MASK_TABLES = slice(2, -1)
"""Where a block_mask has its tables of blocks; behind them is mask_mod, which says the same of each score."""


def flex_attention(
    w: Writer,
    query: Value,
    key: Value,
    value: Value,
    score_mod: torch.fx.GraphModule,
    block_mask: tuple,
    scale: float,
    kernel_options: Any,
    score_mod_other_buffers: tuple = (),
    mask_mod_other_buffers: tuple = (),
) -> tuple[Value, Value, None]:
    """The means of the values, and log2 of the sum of the scores' exponentials."""
    batch = query.shape[:1]
    q, k, v = (w.transpose(w.spread(x, batch + x.shape[1:]), [0, 2, 1, 3]) for x in (query, key, value))
    body = AttentionBody(w, (q.shape[0], q.shape[2], q.shape[1], k.shape[1]))
    places = [_place(w, body, axis) for axis in range(RANK)]
    masked = ScoreGraph(body).run(block_mask[-1], [*places, *mask_mod_other_buffers])
    modified = ScoreGraph(body).run(score_mod, [body.handed, *places, *score_mod_other_buffers])
    body.score = body.inside.cast(_inside(body, modified), "f32")
    condition = _inside(body, masked)
    if not (condition.splat is not None and bool(condition.splat)):
        body.see(body.inside.cast(condition, "bool"))
    means, lse = body.results(q, k, v, float(scale))
    return w.transpose(means, [0, 2, 1, 3]), w.mul(lse, 1 / math.log(2)), None


def _place(w: Writer, body: AttentionBody, axis: int) -> Value:
    shape = tuple(size if i == axis else 1 for i, size in enumerate(body.scores))
    return w.iota(shape, axis)


def _inside(body: AttentionBody, x: Any) -> Value:
    """A value of the body, of all scores."""
    if isinstance(x, Value) and x is not body.handed and not isinstance(x, OfScore):
        return body.read(x)
    return x if isinstance(x, Value) else body.inside.operand(x, "f32", body.scores)


@dataclass(eq=False)
class OfScore(Value):
    """A value of the body."""


@dataclass(frozen=True)
class Picked:
    """A buffer of which the first dims are indexed: table[b] of table[b][q]."""

    buffer: Value
    indices: tuple[Value, ...]


class ScoreGraph:
    """Runs over a graph of single numbers, with tensors in their place."""

    def __init__(self, body: AttentionBody) -> None:
        self.body = body

    def run(self, module: torch.fx.GraphModule, arguments: list[Any]) -> Any:
        given = iter(arguments)
        found: dict[torch.fx.Node, Any] = {}
        for node in module.graph.nodes:
            if node.op == "placeholder":
                found[node] = next(given)
            elif node.op == "get_attr":
                found[node] = self.body.w.table(getattr(module, node.target).detach())
            elif node.op == "output":
                result = torch.fx.node.map_arg(node.args[0], found.__getitem__)
                return result[0] if isinstance(result, (tuple, list)) else result
            else:
                found[node] = self._call(node, found)
        return None

    def _call(self, node: torch.fx.Node, found: dict[torch.fx.Node, Any]) -> Any:
        args = torch.fx.node.map_arg(node.args, found.__getitem__)
        kwargs = torch.fx.node.map_arg(node.kwargs, found.__getitem__)
        name = name_of(node.target)
        if name not in ROWS or name.startswith(("aten.rand", "aten.bernoulli", "aten.dropout", "aten.native_dropout")):
            refuse(f"{name} in a score_mod or mask_mod")
        out = result_of(node.meta.get("val"), self.body.w.dims)
        if name.startswith("aten.index."):
            return self._indexed(args, out)
        values = [x for x in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(x, Value)]
        if any(isinstance(x, Picked) for x in torch.utils._pytree.tree_leaves((args, kwargs))):
            refuse(f"{name} of a row of a buffer in a score_mod or mask_mod")
        return self._pointwise(node, name, args, kwargs, values, out)

    def _pointwise(self, node: Any, name: str, args: Any, kwargs: Any, values: list[Value], out: Any) -> Value:
        if not isinstance(out, Result) or (out.shape and any(x.rank == RANK for x in values)):
            refuse(f"{name} in a score_mod or mask_mod, of more than single numbers")
        is_inside = any(self._is_of_score(x) for x in values)
        if is_inside:
            args, kwargs = (torch.fx.node.map_aggregate(x, self._as_inside) for x in (args, kwargs))
            out = replace(out, shape=self.body.scores)
        elif not out.shape:
            out = replace(out, shape=broadcast_shapes(*(x.shape for x in values)) if values else ())
        w = self.body.inside if is_inside else self.body.w
        result = ROWS[name](w, out, **bound_arguments(node.target, args, kwargs))
        return _of_score(result) if is_inside else result

    def _is_of_score(self, x: Value) -> bool:
        return x is self.body.handed or isinstance(x, OfScore)

    def _as_inside(self, x: Any) -> Any:
        return x if not isinstance(x, Value) or self._is_of_score(x) else self.body.read(x)

    def _indexed(self, args: tuple, out: Any) -> Any:
        """A number of a buffer, picked by places and by what is made of them."""
        table, indices = args[0], tuple(args[1])
        if isinstance(table, Picked):
            table, indices = table.buffer, table.indices + indices
        if any(x is None or self._is_of_score(x) or x.dtype == "bool" for x in indices):
            refuse("a buffer that is indexed by a score, a mask or a part of a dim in a score_mod or mask_mod")
        if len(indices) < table.rank:
            return Picked(table, indices)
        shape = broadcast_shapes(*(x.shape for x in indices))
        return ROWS["aten.index.Tensor"](self.body.w, replace(out, shape=shape), self=table, indices=list(indices))


def _of_score(x: Value) -> Value:
    return OfScore(**vars(x))


# ---- what a block_mask brings along


@contextmanager
def one_block() -> Iterator[None]:
    """For the while a block_mask that a module makes has one block of all scores. Blocks tell PyTorch's kernels which
    scores need no mask_mod; how many there are would be a condition on lengths. Gradients on a CPU, for which PyTorch
    has no kernel, are Smelt's."""
    replaced = {
        "_convert_mask_to_block_mask": _kept,
        "_create_sparse_block_from_block_mask": _block,
        "_validate_device": lambda *_: None,
    }
    with ExitStack() as stack:
        for name, instead in replaced.items():
            if hasattr(flex, name):
                stack.enter_context(mock.patch.object(flex, name, instead))
        yield


def _kept(mask: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, None]:
    return mask, None


def _block(blocks: tuple, mask_mod: Any, seq_lengths: tuple, *_: Any, **__: Any) -> Any:
    batch, heads = blocks[0].shape[:2]
    count = torch.ones([batch, heads, 1], dtype=torch.int32, device=blocks[0].device)
    places = torch.zeros([batch, heads, 1, 1], dtype=torch.int32, device=blocks[0].device)
    whole = getattr(flex, "_LARGE_SPARSE_BLOCK_SIZE", 1 << 30)
    return flex.BlockMask.from_kv_blocks(
        count, places, BLOCK_SIZE=whole, mask_mod=mask_mod, seq_lengths=seq_lengths
    )


def without_mask_tables(module: torch.fx.GraphModule) -> None:
    """Drops the tables of blocks, and the operations that make them: mask_mod alone says which scores are seen."""
    found = [n for n in module.graph.nodes if n.op == "call_function" and name_of(n.target) == "flex_attention"]
    for node in found:
        mask = node.args[4]
        node.args = (*node.args[:4], (0, 0, *[None] * len(mask[MASK_TABLES]), mask[-1]), *node.args[5:])
    if found:
        module.graph.eliminate_dead_code(is_impure_node=_is_check)


def _is_check(node: torch.fx.Node) -> bool:
    """Of sizes; those of types check nothing that a plan does not."""
    name = str(node.target)
    return node.op in ("placeholder", "output") or ("assert" in name and "tensor_metadata" not in name)


def without_block_masks(graph: torch.fx.GraphModule, given: list[Any]) -> tuple[torch.fx.GraphModule, list[Any]]:
    """A graph of Dynamo's without the tables of blocks, and its arguments, None where only the tables had them."""
    if not any(name_of(n.target) == "flex_attention" for n in graph.graph.nodes):
        return graph, given
    graph = copy.deepcopy(graph)
    without_mask_tables(graph)
    graph.recompile()
    used = [bool(node.users) for node in graph.graph.nodes if node.op == "placeholder"]
    return graph, [x if is_used else None for x, is_used in zip(given, used)]
