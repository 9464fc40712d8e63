"""Sums and what is like them, running sums, and orders."""

from __future__ import annotations

import math

from ...builder.sizes import is_known, product
from ...ranges import INTEGERS
from ..refusal import Refusal
from ..rows import Typed, row


def reduced_axes(n, x):
    """None where nothing is reduced."""
    axes = n.axes(1)
    if axes is None or len(axes) == 0:
        return None if n.attribute("noop_with_empty_axes", 0) else list(range(len(x.shape)))
    return [axis % len(x.shape) for axis in axes]


def sum_of(b, x, axes, keep):
    return b.reduce("add", x, axes, keep)


def log_sum_exp(b, x, axes, keep):
    most = b.reduce("max", x, axes, True)
    finite = b.select(b.point("eq", b.point("abs", most), math.inf), 0.0, most)
    total = b.point("log", b.reduce("add", b.point("exp", b.sub(x, finite)), axes, True))
    result = b.add(total, finite)
    if keep:
        return result
    return b.reshape(result, [size for i, size in enumerate(x.shape) if i not in axes])


def product_of(b, x, axes, keep):
    """By halves: no reduction multiplies."""
    if any(not is_known(x.shape[axis]) for axis in axes):
        raise Refusal("a product along a size that is known only when it runs")
    shape = [1 if i in axes else size for i, size in enumerate(x.shape)]
    for axis in axes:
        while (size := x.shape[axis]) > 1:
            half = size // 2
            low, high = b.slice(x, axis, 0, half), b.slice(x, axis, half, half)
            rest = [b.slice(x, axis, 2 * half, 1)] if size % 2 else []
            x = b.concat([b.mul(low, high)] + rest, axis)
        if size == 0:
            x = b.constant(1, x.dtype, tuple(1 if i == axis else s for i, s in enumerate(x.shape)))
    return b.reshape(x, shape if keep else [s for i, s in enumerate(shape) if i not in axes])


# Operand, operation and final step of each reduction.
REDUCTIONS = {
    "ReduceSum": sum_of,
    "ReduceMax": lambda b, x, axes, keep: b.reduce("max", x, axes, keep),
    "ReduceMin": lambda b, x, axes, keep: b.reduce("min", x, axes, keep),
    "ReduceMean": lambda b, x, axes, keep: b.mean(x, axes, keep),
    "ReduceL1": lambda b, x, axes, keep: sum_of(b, b.point("abs", x), axes, keep),
    "ReduceL2": lambda b, x, axes, keep: b.point("sqrt", sum_of(b, b.mul(x, x), axes, keep)),
    "ReduceSumSquare": lambda b, x, axes, keep: sum_of(b, b.mul(x, x), axes, keep),
    "ReduceLogSum": lambda b, x, axes, keep: b.point("log", sum_of(b, x, axes, keep)),
    "ReduceLogSumExp": log_sum_exp,
    "ReduceProd": product_of,
}
NOOP = {
    "ReduceL1": lambda b, x: b.point("abs", x),
    "ReduceL2": lambda b, x: b.point("abs", x),
    "ReduceSumSquare": lambda b, x: b.mul(x, x),
    "ReduceLogSum": lambda b, x: b.point("log", x),
}


@row(*REDUCTIONS)
def reduction(n, x):
    b, name = n.b, n.node.op_type
    axes = reduced_axes(n, x)
    if axes is None or not x.shape:
        return NOOP.get(name, lambda b, x: x)(b, x)
    keep = bool(n.attribute("keepdims", 1))
    if x.dtype == "bool":
        x = b.cast(x, "i32")
    return REDUCTIONS[name](b, x, axes, keep)


@row("ArgMax", "ArgMin", out="INT64")
def arg(n, x):
    b = n.b
    axis = n.attribute("axis", 0) % len(x.shape)
    if n.node.op_type == "ArgMin":  # -1 - x, as there is no -x of the least integer
        x = b.sub(-1, x) if x.dtype in INTEGERS else b.point("neg", x)
    if n.attribute("select_last_index", 0):
        found = b.sub(x.shape[axis] - 1, b.largest(b.reverse(x, axis), [axis])[1])
    else:
        found = b.largest(x, [axis])[1]
    return b.unsqueeze(found, axis) if n.attribute("keepdims", 1) else found


@row("CumSum", "CumProd")
def running(n, x):
    b = n.b
    axis = n.number(1) % len(x.shape)
    reverse = n.attribute("reverse", 0)
    x = b.reverse(x, axis) if reverse else x
    kind = "add" if n.node.op_type == "CumSum" else "mul"
    x = b.scan(x, axis, kind, bool(n.attribute("exclusive", 0)))
    return b.reverse(x, axis) if reverse else x


def largest_first(b, x, k):
    """The k largest of the last axis, and where they are."""
    return b.nodes("top_k", [x], k=k)


MOST_RANKED = 4096
"""Integers that f32 may not hold are compared with each other, every one with all."""


def places_in_order(b, x, is_largest_first):
    """As f32, where each element of the last axis comes: how many come before it."""
    size = x.shape[-1]
    own, other = b.unsqueeze(x, -1), b.unsqueeze(x, -2)
    is_before = b.point("gt" if is_largest_first else "lt", other, own)
    is_in_front = b.point("lt", b.iota((size, size), 1), b.iota((size, size), 0))
    is_tie = b.point("logical_and", b.point("eq", other, own), is_in_front)
    return b.reduce("add", b.cast(b.point("logical_or", is_before, is_tie), "f32"), [-1])


@row("TopK", out=None)
def top_k(n, x):
    b = n.b
    axis = n.attribute("axis", -1) % len(x.shape)
    k = n.attribute("k") if n.given("k") else n.number(1)
    n.refuse_unless(is_known(k) and 1 <= k <= 1024, f"k = {k}, of which 1 to 1024 are sorted")
    moved = b.move(x, axis, -1)
    is_largest = n.attribute("largest", 1)
    if x.dtype in INTEGERS and n.element(0).bits > 16:
        size = x.shape[axis]
        n.refuse_unless(is_known(size) and size <= MOST_RANKED, f"{size} elements of the type {n.element(0).name}")
        keys = b.point("neg", places_in_order(b, moved, is_largest))
    else:
        keys = b.cast(moved, "f32")
        if not is_largest:  # NaN comes after infinity, which counts as the largest number
            keys = b.point("max", b.point("neg", keys), -3.4028234663852886e38)
            keys = b.select(b.point("eq", keys, keys), keys, -math.inf)
    values, places = largest_first(b, keys, int(k))
    if x.dtype in INTEGERS or not is_largest:
        values = taken(b, moved, places)
    return [Typed(b.move(values, -1, axis), n.element(0).name), Typed(b.move(places, -1, axis), "INT64")]


def taken(b, x, places):
    """x[..., places[...]] along the last axis."""
    rows = product(x.shape[:-1])
    flat = b.reshape(x, (rows * x.shape[-1],))
    width = places.shape[-1]
    first = b.mul(b.iota((rows, width), 0), x.shape[-1])
    return b.reshape(b.gather(flat, b.add(first, b.reshape(places, (rows, width))), 0), places.shape)


@row("Hardmax")
def hardmax(n, x):
    b = n.b
    axis = n.attribute("axis", -1) % len(x.shape)
    best = b.unsqueeze(b.largest(x, [axis])[1], axis)
    return b.cast(b.point("eq", b.iota(x.shape, axis), best), "f32")
