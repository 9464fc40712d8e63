"""Distances of rows."""

from __future__ import annotations

import math

from ...builder import Value
from ...builder.sizes import broadcast_shapes, product
from ..powers import power
from ..registry import row


def norm_along(w, away: Value, axis: int, p: float) -> Value:
    """The p-norm along an axis. Where it is 0 its derivative is 0."""
    size = w.point("abs", away)
    if p == 0:
        return w.sum(w.cast(w.point("ne", away, 0.0), "f32"), [axis])
    if p == 1:
        return w.sum(size, [axis])
    if math.isinf(p):
        return w.reduce("max" if p > 0 else "min", size, [axis])
    if p == 2:
        return _root(w, w.sum(w.mul(away, away), [axis]), 2.0)
    some = w.point("gt", size, 0.0)
    powers = w.select(some, power(w, w.select(some, size, 1.0), p), 0.0)
    return _root(w, w.sum(powers, [axis]), p)


def _root(w, total: Value, p: float) -> Value:
    some = w.point("ne", total, 0.0)
    return w.select(some, power(w, w.select(some, total, 1.0), 1 / p), 0.0)


@row("aten._cdist_forward.default", "aten.cdist.default")
def cdist(w, out, x1, x2, p=2.0, compute_mode=None):
    """The distance between each row of x1 and each row of x2, by their differences."""
    front = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    a, b = (w.spread(x, front + x.shape[-2:]) for x in (x1, x2))
    n = len(front)
    shape = (*front, a.shape[n], b.shape[n], a.shape[n + 1])
    away = w.sub(w.broadcast(a, [*range(n), n, n + 2], shape), w.broadcast(b, [*range(n), n + 1, n + 2], shape))
    return norm_along(w, away, n + 2, float(p))


@row("aten._pdist_forward.default", "aten.pdist.default")
def pdist(w, out, self, p=2.0):
    """The distance between each two rows, in the order of the upper triangle."""
    import torch

    rows, columns = torch.triu_indices(self.shape[0], self.shape[0], 1)
    a, b = (w.gather(self, w.table(i), 0) for i in (rows, columns))
    return norm_along(w, w.sub(a, b), 1, float(p))


@row("aten.dist.default")
def dist(w, out, self, other, p=2.0):
    shape = broadcast_shapes(self.shape, other.shape)
    away = w.sub(w.spread(self, shape), w.spread(other, shape))
    return norm_along(w, w.reshape(away, (product(shape),)), 0, float(p))
