"""A sort of whole numbers of few kinds, such as the experts that tokens have chosen."""

from __future__ import annotations

from ...builder import Value
from .scan import running_sum
from .scatter import put_at

MOST_KINDS = 512
"""Of more, comparing each two elements is as good."""


def has_few_kinds(x: Value) -> bool:
    return x.rank == 1 and x.low is not None and x.low >= 0 and x.high is not None and x.high < MOST_KINDS


def counting_sort(w, x: Value) -> tuple[Value, Value]:
    """The numbers in order, equal ones in theirs, and where they were. An element stands behind all of smaller kinds
    and behind those of its own kind in front of it: that is work for each element and kind, and not for each two
    elements."""
    count, kinds = x.shape[0], x.high + 1
    table = (count, kinds)
    is_kind = w.cast(w.point("eq", w.broadcast(x, [0], table), w.iota(table, 1)), "i32")
    running = running_sum(w, is_kind, 0)
    totals = w.reshape(w.slice(running, 0, count - 1, 1), (kinds,))
    smaller = w.sub(running_sum(w, totals, 0), totals)
    behind = w.sub(w.add(running, w.broadcast(smaller, [1], table)), 1)
    places = w.sum(w.mul(is_kind, behind), [1])
    places.low = 0
    origins = put_at(w, w.constant(0, "i32", (count,)), places, w.iota((count,), 0), unique=True)
    return w.gather(x, origins, 0), origins
