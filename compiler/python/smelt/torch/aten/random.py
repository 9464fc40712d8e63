"""Random numbers. Each operation has an id of its own; seed and step pick the numbers."""

from __future__ import annotations

from ...builder import Value
from ..registry import refuse, row

STEPS = 65536
"""Random numbers are of 16 bits."""


def bits(w, shape) -> Value:
    return w.node("random", [], "i32", shape, id=w.random_id())


@row("aten.dropout.default", "aten.feature_dropout.default")
def dropout(w, out, input, p, train):
    if not train or p == 0:
        return input
    if p >= 1:
        return w.constant(0.0, "f32", input.shape)
    return w.node("dropout", [input], p=float(p), id=w.random_id())


@row("aten.native_dropout.default")
def native_dropout(w, out, input, p, train):
    if not train:
        return input, w.constant(True, "bool", input.shape)
    least = round(p * STEPS)
    kept = w.point("ge", bits(w, input.shape), least)
    scale = STEPS / (STEPS - least) if least < STEPS else 0.0
    return w.select(kept, w.mul(input, scale), 0.0), kept


@row("aten.rand.default", "aten.rand_like.default")
def rand(w, out, size=None, self=None, dtype=None):
    """In the middle of the 65536 equal parts of [0, 1)."""
    return w.mul(w.add(w.cast(bits(w, out.shape), "f32"), 0.5), 1 / STEPS)


@row("aten.bernoulli.p", "aten.bernoulli.default")
def bernoulli(w, out, self, p=None):
    share = w.stop(self) if p is None else w.constant(float(p), "f32", out.shape)
    return w.cast(w.point("lt", rand(w, out), share), out.dtype)


@row("aten.uniform.default")
def uniform(w, out, self, **bounds):
    low, high = bounds.get("from", 0.0), bounds.get("to", 1.0)
    return w.add(w.mul(rand(w, out), float(high - low)), float(low))


@row("aten.exponential.default")
def exponential(w, out, self, lambd=1.0):
    return w.mul(w.point("log", rand(w, out)), -1.0 / lambd)


@row("aten.randn.default", "aten.randn_like.default", "aten.normal.float_float", "aten.randint.low",
     "aten.randint.default", "aten.randperm.default", "aten.multinomial.default")
def other_distributions(w, out, *_, **__):
    refuse("Smelt draws uniform numbers, and what is made of these")
