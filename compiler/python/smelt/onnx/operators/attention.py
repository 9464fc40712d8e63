"""Attention as Smelt's own operation: what ONNX does to a score is the body (docs/dev/attention.md)."""

from __future__ import annotations

import math
from typing import NamedTuple, Optional

from ..._native import GraphBuilder
from ...builder import Value
from ...builder.integers import NARROW
from ...builder.sizes import Size, is_known
from ..build import Builder
from ..rows import Typed, row


class Heads(NamedTuple):
    """Queries, keys and values as [batch, place, head, width]."""

    q: Value
    k: Value
    v: Value

    @property
    def scores(self) -> tuple:
        return (self.q.shape[0], self.q.shape[2], self.q.shape[1], self.k.shape[1])


def needs_scores(n) -> bool:
    """Whether the model asks for the scores themselves."""
    return len(n.node.output) > 3 and n.node.output[3] != ""


@row("Attention", out=None, narrow=True, otherwise=needs_scores)
def attention(n, q, k, v):
    b, kind = n.b, n.element(0).name
    is_flat = len(q.shape) == 3
    heads = Heads(*(by_places(b, x, n.attribute(f"{name}_num_heads")) for x, name in ((q, "q"), (k, "kv"), (v, "kv"))))
    past: Size = 0
    if n.has(4):
        past = n.shape(4)[2]
        old = [b.transpose(n.x(i), (0, 2, 1, 3)) for i in (4, 5)]
        heads = Heads(heads.q, *(b.concat([a, x], 1) for a, x in zip(old, heads[1:])))
    scale = n.attribute("scale") or 1 / math.sqrt(heads.q.shape[-1])
    means = attend(b, heads, scale, body_of(n, heads, past))
    y = (
        b.reshape(means, (*q.shape[:2], means.shape[2] * means.shape[3]))
        if is_flat
        else b.transpose(means, (0, 2, 1, 3))
    )
    present = [b.transpose(x, (0, 2, 1, 3)) for x in heads[1:]]
    return [Typed(x, kind) for x in (y, *present)][: len(n.node.output)]


def by_places(b: Builder, x: Value, count: Optional[int]) -> Value:
    if len(x.shape) == 4:
        return b.transpose(x, (0, 2, 1, 3))
    return b.reshape(x, (*x.shape[:2], count, x.shape[2] // count))


def attend(b: Builder, heads: Heads, scale: float, body: GraphBuilder) -> Value:
    return b.nodes("attention", heads, body=body, scale=float(scale))[0]


def body_of(n, heads: Heads, past: Size) -> GraphBuilder:
    """softcap, then what is added, then which keys are seen."""
    shape = heads.scores
    body = GraphBuilder(n.b.block, [("f32", shape)])
    inside, score = Builder(body), Value(*body.given()[0])
    inside.ranges = n.b.ranges
    cap = n.attribute("softcap", 0.0)
    n.refuse_unless(cap >= 0, f"softcap {cap}, expected 0, for none, or more")
    if cap:
        score = inside.mul(inside.point("tanh", inside.mul(score, 1 / cap)), cap)
    lengths = argument(n.b, body, inside, n.x(6), shape, (0,)) if n.has(6) else None
    seen = windows(n, body, inside, shape, lengths, past)
    if n.has(3):
        mask = argument(n.b, body, inside, padded_mask(n, shape[3]), shape)
        if mask.dtype == "bool":
            seen.append(mask)
        else:  # of a score that is no number nothing is left either
            seen.append(inside.point("gt", mask, -math.inf))
            score = inside.add(score, mask)
    for each in seen:
        score = inside.select(each, score, -math.inf)
    body.returns([score.number])
    return body


def padded_mask(n, keys: Size) -> Value:
    mask = n.x(3)
    if mask.shape[-1] == keys or is_known(mask.shape[-1]) and mask.shape[-1] == 1 and keys == 1:
        return mask
    return n.b.pad(mask, -1, 0, keys - mask.shape[-1], False if mask.dtype == "bool" else -math.inf)


def argument(b: Builder, body: GraphBuilder, inside: Builder, outside: Value, shape: tuple, axes=None) -> Value:
    """Handed to the body without axes of size 1, and broadcast there."""
    axes = range(len(shape) - len(outside.shape), len(shape)) if axes is None else axes
    kept = [(axis, size) for axis, size in zip(axes, outside.shape) if size == shape[axis]]
    handed = Value(*body.argument(b.reshape(outside, [size for _, size in kept]).number))
    handed = inside.cast(handed, "f32") if handed.dtype in NARROW else handed
    return inside.broadcast(handed, [axis for axis, _ in kept], shape)


def windows(n, body: GraphBuilder, inside: Builder, shape: tuple, lengths: Optional[Value], past: Size) -> list[Value]:
    """Which keys each query sees by its place."""
    query, key = inside.iota(shape, 2), inside.iota(shape, 3)
    seen = [] if lengths is None else [inside.point("lt", key, lengths)]
    place = query
    if lengths is not None and not n.has(4):
        queries = argument(n.b, body, inside, n.b.size(shape[2]), shape, ())
        place = inside.add(query, inside.sub(lengths, queries))
    elif past != 0:
        place = inside.add(query, past if is_known(past) else argument(n.b, body, inside, n.b.size(past), shape, ()))
    left, right = n.attribute("left_window_size", -1), n.attribute("right_window_size", -1)
    if n.attribute("is_causal", 0):
        seen.append(inside.point("ge", place, key))
    if left >= 0:
        seen.append(inside.point("ge", inside.add(key, left), place))
    if right >= 0:
        seen.append(inside.point("le", key, inside.add(place, right)))
    return seen


@row("RotaryEmbedding")
def rotary_embedding(n, x, cos, sin, places):
    """The first numbers of each head are pairs that turn: halves, or neighbours where it is interleaved."""
    b = n.b
    flat = x.shape
    if len(flat) == 3:
        x = b.reshape(x, (*flat[:2], n.attribute("num_heads"), flat[2] // n.attribute("num_heads")))
        heads = 2
    else:
        heads = 1
    if places is not None:
        cos, sin = (b.gather(table, places, 0) for table in (cos, sin))
    cos, sin = (b.unsqueeze(table, heads) for table in (cos, sin))
    width = x.shape[-1]
    turned = n.attribute("rotary_embedding_dim", 0) or width
    rest = b.slice(x, -1, turned, width - turned)
    y = turn(b, b.slice(x, -1, 0, turned), cos, sin, n.attribute("interleaved", 0))
    return b.reshape(b.concat([y, rest], -1), flat)


def turn(b: Builder, x: Value, cos: Value, sin: Value, interleaved: int) -> Value:
    half = x.shape[-1] // 2
    pairs = b.reshape(x, (*x.shape[:-1], half, 2) if interleaved else (*x.shape[:-1], 2, half))
    axis = -1 if interleaved else -2
    re, im = (b.squeeze(b.slice(pairs, axis, i, 1), axis) for i in range(2))
    turned = (b.sub(b.mul(re, cos), b.mul(im, sin)), b.add(b.mul(re, sin), b.mul(im, cos)))
    return b.reshape(b.concat([b.unsqueeze(part, axis) for part in turned], axis), x.shape)
