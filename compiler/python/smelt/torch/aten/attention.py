"""Attention as a whole: what becomes of the scores is a body (docs/dev/attention.md)."""

from __future__ import annotations

import math
from typing import Optional

from ..._native import GraphBuilder
from ...builder import Value
from ...builder.sizes import Shape, broadcast_shapes, product
from ..registry import refuse, row
from ..writer import Writer
from .random import STEPS

CHEAP = {
    "add", "sub", "mul", "neg", "max", "min", "select", "convert",
    "lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or", "logical_not",
}  # fmt: skip
"""What a body may compute again for each score."""


@row("aten.scaled_dot_product_attention.default")
def scaled_dot_product_attention(
    w, out, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if query.rank != 4:
        return _of_other_rank(w, out, query, key, value, attn_mask, dropout_p, is_causal, scale)
    scale = _scale_of(query, scale)
    batch = out.shape[:1]
    q, k, v = (w.transpose(_batched(w, x, batch), [0, 2, 1, 3]) for x in (query, key, value))
    if not enable_gqa:
        heads = broadcast_shapes((q.shape[2],), (k.shape[2],))
        q, k, v = (w.spread(x, x.shape[:2] + heads + x.shape[3:]) for x in (q, k, v))
    body = AttentionBody(w, (q.shape[0], q.shape[2], q.shape[1], k.shape[1]))
    if is_causal:
        body.see(body.inside.point("ge", body.place(2), body.place(3)))
    if attn_mask is not None:
        body.see(body.read(attn_mask)) if attn_mask.dtype == "bool" else body.add(body.read(attn_mask))
    if dropout_p:
        body.drop(dropout_p, w.random_id())
    return w.transpose(body.finish(q, k, v, scale), [0, 2, 1, 3])


def _batched(w, x: Value, batch: Shape) -> Value:
    return w.spread(x, batch + x.shape[1:])


def _scale_of(query: Value, scale) -> float:
    if scale is not None:
        return float(scale)
    if not isinstance(query.shape[-1], int):
        refuse("heads whose width changes: leave that dim out of the sizes that change, or give scale=")
    return 1 / math.sqrt(query.shape[-1])


def _of_other_rank(w, out, query, key, value, mask, dropout_p, is_causal, scale) -> Value:
    """Dims in front of the matrices become one, the batch, with one head."""
    front = out.shape[:-2]

    def four(x: Value) -> Value:
        x = w.spread(x, front + x.shape[-2:])
        return w.reshape(x, (product(front), 1) + x.shape[-2:])

    if mask is not None:
        mask = four(w.spread(mask, front + (query.shape[-2], key.shape[-2])))
    flat = type(out)(out.dtype, (product(front), 1) + out.shape[-2:], out.torch_dtype)
    result = scaled_dot_product_attention(
        w, flat, four(query), four(key), four(value), mask, dropout_p, is_causal, scale
    )
    return w.reshape(result, out.shape)


class AttentionBody:
    """The small graph of one attention: it is handed a score and returns what it becomes."""

    def __init__(self, w: Writer, scores: Shape) -> None:
        self.w = w
        self.scores = scores
        self.block = GraphBuilder(w.block, [("f32", scores)])
        self.inside = Writer(self.block, w.dims, w.random_id, w.weights)
        self.inside.wide = False  # what is computed again keeps its width
        self.score = self.handed = Value(*self.block.given()[0], grad=True)
        self.seen: Optional[Value] = None
        self.factor: Optional[Value] = None
        self.has_grad = False
        """Whether a derivative may pass to what the body reads."""
        self._read: dict[int, Value] = {}

    def place(self, axis: int) -> Value:
        return self.inside.iota(self.scores, axis)

    def see(self, condition: Value) -> None:
        self.seen = condition if self.seen is None else self.inside.both(self.seen, condition)

    def add(self, bias: Value) -> None:
        self.score = self.inside.add(self.score, bias)

    def drop(self, p: float, random_id: int) -> None:
        least = round(p * STEPS)
        bits = self.inside.node("random", [], "i32", self.scores, id=random_id)
        kept = self.inside.point("ge", bits, least)
        scale = self.inside.constant(STEPS / (STEPS - least), "f32", self.scores)
        self.factor = self.inside.select(kept, scale, 0.0)

    def read(self, x: Value) -> Value:
        """A value that spreads to the scores."""
        before = len(self.scores) - x.rank
        return self._of(x, tuple(range(before, len(self.scores))))

    def _of(self, x: Value, axes: tuple[int, ...]) -> Value:
        """x, whose dim i is dim axes[i] of the scores: computed again in here where it is as large as the scores
        and made of less."""
        while x.spread is not None:
            x, inner = x.spread
            axes = tuple(axes[a] if a >= 0 else -1 for a in inner)
        if x.splat is not None:
            return self.inside.constant(x.splat, x.dtype, self.scores)
        if _is_plain_place(x) and axes[x.place[0]] >= 0:
            return self.inside.iota(self.scores, axes[x.place[0]], *x.place[1:])
        varies = {a for a, size in zip(axes, x.shape) if size != 1}
        if x.recipe is not None and x.recipe[0] in CHEAP and {2, 3} <= varies:
            return self._computed(x, axes)
        return self._argument(x, axes)

    def _computed(self, x: Value, axes: tuple[int, ...]) -> Value:
        if id(x) not in self._read:
            operation, operands = x.recipe
            inner = [self._of(o, axes) for o in operands]
            if operation == "convert":
                self._read[id(x)] = self.inside.cast(inner[0], x.dtype)
            elif operation == "logical_and":
                self._read[id(x)] = self.inside.both(*inner)
            else:
                self._read[id(x)] = self.inside.pointwise(operation, *inner)
        return self._read[id(x)]

    def _argument(self, x: Value, axes: tuple[int, ...]) -> Value:
        kept = [i for i, size in enumerate(x.shape) if size != 1]
        outside = self.w.reshape(x, [x.shape[i] for i in kept])
        inner = Value(*self.block.argument(outside.number), grad=x.grad)
        self.has_grad |= x.grad
        return self.inside.broadcast(inner, [axes[i] for i in kept], self.scores)

    def finish(self, q: Value, k: Value, v: Value, scale: float) -> Value:
        return self.results(q, k, v, scale)[0]

    def results(self, q: Value, k: Value, v: Value, scale: float) -> list[Value]:
        """The means of the values, and the logarithms of the sums of exponentials."""
        if self.seen is not None:
            self.score = self.inside.select(self.seen, self.score, -math.inf)
        is_plain = self.score is self.handed and self.factor is None
        self.block.returns([x.number for x in (self.score, self.factor) if x is not None])
        results = self.w.nodes("attention", [q, k, v], body=None if is_plain else self.block, scale=scale)
        for result in results:
            result.grad |= self.has_grad
        return results


def _is_plain_place(x: Value) -> bool:
    """Places that a body computes from its own."""
    return x.place is not None and isinstance(x.place[2], int) and x.shape[x.place[0]] != 1


@row("aten._scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention_for_cpu(w, out, query, key, value, dropout_p=0.0, is_causal=False, attn_mask=None, scale=None):
    """The second result is the logarithm of each row's sum of exponentials, which has no gradient."""
    if dropout_p or attn_mask is not None:
        refuse("a kernel of PyTorch's for attention, with a mask or dropout; call scaled_dot_product_attention")
    result = scaled_dot_product_attention(w, out[0], query, key, value, None, 0.0, is_causal, scale)
    scale = _scale_of(query, scale)
    scores = w.mul(w.matmul("bhtd,bhsd->bhts", w.stop(query), w.stop(key)), scale)
    if is_causal:
        seen = w.point("ge", w.iota(scores.shape, 2), w.iota(scores.shape, 3))
        scores = w.select(seen, scores, -math.inf)
    most, rest = w.sums_of_exponentials(scores, [3])
    return result, w.add(most, w.point("log", rest))
