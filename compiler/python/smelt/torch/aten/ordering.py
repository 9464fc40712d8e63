"""Elements by their order: medians and others of a rank, running extremes, places in sorted numbers, modes."""

from __future__ import annotations

import math
from dataclasses import replace

from ...builder import Value
from ...builder.sizes import product
from ..registry import refuse, row
from .indexing import element_places, pick
from .reduction import largest, sort
from .scan import running_extreme
from .shape import axis_of, with_a_dim


def _axis_last(x: Value, axis: int) -> list[int]:
    return [i for i in range(x.rank) if i != axis] + [axis]


# ---- of a rank


def _of_rank(w, out, x: Value, dim: int, rank: Value | int) -> tuple[Value, Value]:
    """The element of this rank (0: the smallest) of each row along a dim, and its place."""
    axis = axis_of(x.rank, dim)
    values, places = sort(w, None, x, axis)
    if isinstance(rank, int):
        picked = [w.slice(v, axis, rank, 1) for v in (values, places)]
    else:
        rank = w.reshape(rank, x.shape[:axis] + (1,) + x.shape[axis + 1 :])
        rank.low = 0
        picked = [pick(w, v, element_places(w, v.shape, axis, rank)) for v in (values, places)]
    return tuple(w.reshape(v, o.shape) for v, o in zip(picked, out))


@row("aten.kthvalue.default")
@with_a_dim
def kthvalue(w, out, self, k, dim=-1, keepdim=False):
    return _of_rank(w, out, self, dim, k - 1)


def _middle(x: Value, dim: int) -> int:
    size = x.shape[axis_of(x.rank, dim)]
    if not isinstance(size, int):
        refuse("the middle of a dim whose size changes")
    return (size - 1) // 2


@row("aten.median.dim")
@with_a_dim
def median(w, out, self, dim, keepdim=False):
    """The lower one of two in the middle; of a row with a NaN, the first NaN."""
    values, places = _of_rank(w, out, self, dim, _middle(self, dim))
    if self.dtype != "f32":
        return values, places
    axis = axis_of(self.rank, dim)
    bad = w.cast(w.point("ne", w.stop(self), w.stop(self)), "i32")
    most, first = (w.reshape(v, out[0].shape) for v in largest(w, bad, axis))
    broken = w.point("gt", most, 0)
    return w.select(broken, math.nan, values), w.select(broken, first, places)


@row("aten.nanmedian.dim")
@with_a_dim
def nanmedian(w, out, self, dim, keepdim=False):
    """NaNs are sorted to the end, so that the middle is that of the others."""
    if self.dtype != "f32":
        return median(w, out, self, dim=dim, keepdim=keepdim)
    axis = axis_of(self.rank, dim)
    count = w.sum(w.cast(w.point("eq", w.stop(self), w.stop(self)), "i32"), [axis])
    return _of_rank(w, out, self, dim, w.div(w.point("max", w.sub(count, 1), 0), 2))


def _of_all(by_dim):
    """Elements that equal the result share its gradient."""

    def find(w, out, self):
        flat = w.reshape(self, (product(self.shape),))
        alone = w.stop(flat) if flat.grad else flat
        found = by_dim(w, (out, replace(out, dtype="i32")), alone, dim=0)[0]
        return _shared_slope(w, found, flat) if flat.grad else found

    return find


def _shared_slope(w, found: Value, flat: Value) -> Value:
    x, y = w.stop(flat), w.along(found, [0], flat.shape)
    broken = w.both(w.point("ne", x, x), w.point("ne", y, y))
    chosen = w.pointwise("logical_or", w.point("eq", x, y), broken)
    count = w.sum(w.cast(chosen, "f32"), [0])
    total = w.sum(w.select(chosen, flat, 0.0), [0])
    return w.with_slopes(found, (total, w.div(1.0, count)))


row("aten.median.default")(_of_all(median))
row("aten.nanmedian.default")(_of_all(nanmedian))


@row("aten.mode.default")
@with_a_dim
def mode(w, out, self, dim=-1, keepdim=False):
    """The smallest of the most frequent elements, and its last place."""
    axis = axis_of(self.rank, dim)
    x = w.transpose(self, _axis_last(self, axis))
    key = w.stop(x if x.dtype == "f32" else w.cast(x, "i32"))
    *front, size = x.shape
    wide, n = (*front, size, size), len(front)
    same = w.point("eq", w.broadcast(key, [*range(n), n], wide), w.broadcast(key, [*range(n), n + 1], wide))
    counts = w.sum(w.cast(same, "i32"), [n + 1])
    most = w.along(w.reduce("max", counts, [n]), [n], key.shape)
    limit = math.inf if key.dtype == "f32" else 2**31 - 1
    best = w.reduce("min", w.select(w.point("eq", counts, most), key, limit), [n])
    hit = w.point("eq", key, w.along(best, [n], key.shape))
    place = w.reduce("max", w.select(hit, w.iota(key.shape, n), 0), [n])
    place.low = 0
    place = w.reshape(place, (*front, 1))
    values = pick(w, x, element_places(w, x.shape, n, place))
    return w.reshape(values, out[0].shape), w.reshape(place, out[1].shape)


# ---- running extremes


def _running(sign: int):
    def scan(w, out, self, dim):
        axis = axis_of(self.rank, dim)
        key = w.stop(self if self.dtype == "f32" else w.cast(self, "i32"))
        key = key if sign > 0 else w.point("neg", key)
        best = running_extreme(w, key, axis)
        here = w.point("eq", key, best)  # of equal elements the last one
        if key.dtype == "f32":
            here = w.point("logical_or", here, w.point("ne", key, key))
        places = running_extreme(w, w.select(here, w.iota(key.shape, axis), 0), axis)
        places.low = 0
        if key.dtype != "f32":
            return w.cast(best if sign > 0 else w.point("neg", best), self.dtype), places
        return pick(w, self, element_places(w, self.shape, axis, places)), places

    return with_a_dim(scan)


row("aten.cummax.default")(_running(1))
row("aten.cummin.default")(_running(-1))


# ---- places in sorted numbers


@row("aten.searchsorted.Tensor", "aten.searchsorted.Scalar")
def searchsorted(w, out, sorted_sequence, self, out_int32=False, right=False, side=None, sorter=None):
    """Counts the numbers of the row that come before:
    those that are smaller, on the right those that are equal, too."""
    numbers = sorted_sequence
    if sorter is not None:
        numbers = pick(w, numbers, element_places(w, numbers.shape, numbers.rank - 1, w.places(sorter)))
    values = self if isinstance(self, Value) else w.operand(self, numbers.dtype, ())
    return _count_before(w, out, numbers, values, right or side == "right")


@row("aten.bucketize.Tensor", "aten.bucketize.Scalar")
def bucketize(w, out, self, boundaries, out_int32=False, right=False):
    values = self if isinstance(self, Value) else w.operand(self, boundaries.dtype, ())
    return _count_before(w, out, boundaries, values, right)


def _count_before(w, out, numbers: Value, values: Value, right: bool) -> Value:
    shape = (*values.shape, numbers.shape[-1])
    axes = [*range(numbers.rank - 1), len(shape) - 1] if numbers.rank > 1 else [len(shape) - 1]
    dtype = "f32" if "f32" in (numbers.dtype, values.dtype) else "i32"
    a = w.broadcast(w.cast(numbers, dtype), axes, shape)
    b = w.broadcast(w.cast(values, dtype), range(values.rank), shape)
    before = w.point("le" if right else "lt", w.stop(a), w.stop(b))
    if dtype == "f32":  # a NaN comes after all numbers
        before = w.point("logical_or", before, w.point("ne", b, b))
    return w.reshape(w.sum(w.cast(before, "i32"), [len(shape) - 1]), out.shape)


@row("aten.isin.Tensor_Tensor", "aten.isin.Tensor_Scalar", "aten.isin.Scalar_Tensor")
def isin(w, out, elements=None, test_elements=None, assume_unique=False, invert=False, element=None, test_element=None):
    elements = element if elements is None else elements
    tests = test_element if test_elements is None else test_elements
    given = [x for x in (elements, tests) if isinstance(x, Value)]
    floats = any(x.dtype == "f32" for x in given) or any(isinstance(x, float) for x in (elements, tests))
    dtype = "f32" if floats else "i32"
    x, y = w.operand(elements, dtype), w.operand(tests, dtype)
    y = w.reshape(y, (product(y.shape),))
    shape = (*x.shape, y.shape[0])
    same = w.point("eq", w.broadcast(x, range(x.rank), shape), w.broadcast(y, [x.rank], shape))
    found = w.cast(w.reduce("max", w.cast(same, "i32"), [x.rank]), "bool")
    return w.point("logical_not", found) if invert else found
