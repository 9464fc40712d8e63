"""Sums, extremes, means, variances and what is made of them; the largest elements, order and counts."""

from __future__ import annotations

import math

from ...builder import Value
from ...builder.sizes import Size, product
from ...ranges import INTEGERS
from ..registry import refuse, row
from .counting_sort import counting_sort, has_few_kinds
from .shape import axes_of, axis_of, with_a_dim
from ..powers import power, root


LARGEST = 3.4028234663852886e38
"""Of f32."""

EXACT = 2**24
"""float32 holds all integers up to it."""


def _with_ones(w, x: Value, out) -> Value:
    """keepdim: the reduced dims stay, as 1."""
    return w.reshape(x, out.shape)


def _axes(x: Value, dim) -> list[int]:
    return axes_of(x.rank, dim)


def count_as(w, sizes, dtype: str = "f32") -> Value | float | int:
    """How many elements are reduced."""
    count = product(sizes)
    return count if isinstance(count, int) else w.operand(count, dtype, ())


def mean_of(w, x: Value, axes) -> Value:
    axes = list(axes)
    if not axes:
        return x
    return w.div(w.sum(x, axes), count_as(w, [x.shape[a] for a in axes]))


@row("aten.sum.default", "aten.sum.dim_IntList")
def total(w, out, self, dim=None, keepdim=False, dtype=None):
    return _with_ones(w, w.sum(w.cast(self, out.dtype), _axes(self, dim)), out)


@row("aten.mean.default", "aten.mean.dim")
def mean(w, out, self, dim=None, keepdim=False, dtype=None):
    return _with_ones(w, mean_of(w, w.cast(self, "f32"), _axes(self, dim)), out)


def _extreme(kind: str):
    def reduce(w, out, self, dim=(), keepdim=False):
        axes = _axes(self, list(dim) if isinstance(dim, tuple) else dim)
        x = w.cast(self, "i32") if self.dtype == "bool" else self
        result = w.reduce(kind, x, axes) if axes else x
        return _with_ones(w, w.cast(result, out.dtype), out)

    return reduce


row("aten.amax.default", "aten.max.default")(_extreme("max"))
row("aten.amin.default", "aten.min.default")(_extreme("min"))


@row("aten.any.default", "aten.any.dim", "aten.any.dims")
def any_of(w, out, self, dim=None, keepdim=False):
    """The largest flag; of no elements it is below 0. An empty list of dims leaves each element alone, as in `all_of`."""
    if dim == []:
        return w.cast(self, "bool")
    flags = w.cast(w.cast(self, "bool"), "i32")
    return _with_ones(w, w.point("gt", w.reduce("max", flags, _axes(self, dim)), 0), out)


@row("aten.all.default", "aten.all.dim", "aten.all.dims", "aten._is_all_true.default")
def all_of(w, out, self, dim=None, keepdim=False):
    if dim == []:
        return w.cast(self, "bool")
    flags = w.cast(w.cast(self, "bool"), "i32")
    return _with_ones(w, w.cast(w.reduce("min", flags, _axes(self, dim)), "bool"), out)


# ---- extremes with their places


def largest(w, x: Value, axis: int, sign: int = 1) -> tuple[Value, Value]:
    """The largest along an axis (of the negated numbers: the smallest) and the first place that has it."""
    values = w.cast(x, "i32") if x.dtype == "bool" else x
    if sign < 0:
        values = _turned(w, values)
    best, place = w.largest(values, [axis])
    return (best if sign > 0 else _turned(w, best)), place


def _turned(w, x: Value) -> Value:
    """In the opposite order: of integers -1 - x, which the least of them has, too."""
    return w.point("neg", x) if x.dtype == "f32" else w.point("sub", -1, x)


def _with_places(sign: int):
    def reduce(w, out, self, dim, keepdim=False):
        values, places = largest(w, self, axis_of(self.rank, dim), sign)
        return w.reshape(w.cast(values, out[0].dtype), out[0].shape), w.reshape(places, out[1].shape)

    return reduce


row("aten.max.dim")(with_a_dim(_with_places(1)))
row("aten.min.dim")(with_a_dim(_with_places(-1)))


def _places_alone(sign: int):
    def reduce(w, out, self, dim=None, keepdim=False):
        x = self if dim is not None else w.reshape(self, (product(self.shape),))
        return w.reshape(largest(w, x, axis_of(x.rank, dim or 0), sign)[1], out.shape)

    return reduce


row("aten.argmax.default")(with_a_dim(_places_alone(1)))
row("aten.argmin.default")(with_a_dim(_places_alone(-1)))


# ---- moments and norms


def moments(w, x: Value, axes) -> tuple[Value, Value]:
    """The mean and the variance over the count, without the reduced axes."""
    axes = list(axes)
    center = mean_of(w, x, axes)
    away = w.sub(x, w.along(center, axes, x.shape))
    return center, mean_of(w, w.mul(away, away), axes)


def _corrected(w, x: Value, axes, variance: Value, correction) -> Value:
    if correction == 0:
        return variance
    n: Size = product(x.shape[a] for a in axes)
    if isinstance(n, int):
        return w.mul(variance, n / (n - correction) if n != correction else math.nan)
    count = w.operand(n, "f32", ())
    return w.mul(variance, w.div(count, w.sub(count, float(correction))))


def _variance(w, out_shape, x, dim, correction):
    axes = axes_of(x.rank, dim)
    center, variance = moments(w, w.cast(x, "f32"), axes)
    variance = _corrected(w, x, axes, variance, 1 if correction is None else correction)
    return w.reshape(variance, out_shape), w.reshape(center, out_shape)


@row("aten.var.correction", "aten.var.dim", "aten.var.default")
def var(w, out, self, dim=None, correction=None, unbiased=True, keepdim=False):
    return _variance(w, out.shape, self, dim, int(unbiased) if correction is None else correction)[0]


@row("aten.std.correction", "aten.std.dim", "aten.std.default")
def std(w, out, self, dim=None, correction=None, unbiased=True, keepdim=False):
    return root(w, var(w, out, self, dim, correction, unbiased, keepdim))


@row("aten.var_mean.correction", "aten.var_mean.dim")
def var_mean(w, out, self, dim=None, correction=None, unbiased=True, keepdim=False):
    return _variance(w, out[0].shape, self, dim, int(unbiased) if correction is None else correction)


@row("aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim", "aten.norm.Scalar")
def vector_norm(w, out, self, ord=2, dim=None, keepdim=False, dtype=None, p=None):
    order, axes = (ord if p is None else p), axes_of(self.rank, dim)
    x = w.cast(self, "f32")
    if order == 2:
        return _with_ones(w, root(w, w.sum(w.mul(x, x), axes)), out)
    size = w.point("abs", x)
    if order == math.inf:
        return _with_ones(w, w.reduce("max", size, axes), out)
    if order == -math.inf:
        return _with_ones(w, w.reduce("min", size, axes), out)
    if order == 1:
        return _with_ones(w, w.sum(size, axes), out)
    if order == 0:
        return _with_ones(w, w.sum(w.cast(w.point("ne", w.stop(x), 0.0), "f32"), axes), out)
    return _with_ones(w, _norm_of_order(w, size, order, axes), out)


def _norm_of_order(w, size: Value, order: float, axes) -> Value:
    """With PyTorch's derivative where elements or all of them are 0: 0."""
    at_zero = w.point("eq", size, 0.0)
    slope = w.select(at_zero, 0.0, w.mul(power(w, w.stop(size), order - 1), float(order)))
    total = w.sum(w.with_slopes(power(w, w.stop(size), order), (size, slope)), axes)
    norm = power(w, w.stop(total), 1 / order)
    slope = w.select(w.point("eq", norm, 0.0), 0.0, w.mul(power(w, norm, 1 - order), 1 / order))
    return w.with_slopes(norm, (total, slope))


def log_of_sum(w, x: Value, axes) -> Value:
    """The logarithm of the sum of exponentials: infinite if the maximum is, below which the sum of exponentials is NaN."""
    most, rest = w.sums_of_exponentials(w.stop(x), axes)
    infinite, log = w.point("eq", most, math.inf), w.point("log", rest)
    result = w.select(infinite, math.inf, w.add(most, log))
    if not x.grad:
        return result
    # The derivative is the softmax. Those of the maximum and of the sum would cancel, and leave their rounding errors.
    below = w.sub(w.stop(x), w.along(most, axes, x.shape))
    share = w.point("exp", w.sub(below, w.along(w.select(infinite, 0.0, log), axes, x.shape)))
    nothing = w.with_slopes(w.constant(0.0, "f32", x.shape), (x, share))
    return w.add(result, w.sum(nothing, axes))


@row("aten.logsumexp.default")
def logsumexp(w, out, self, dim, keepdim=False):
    return _with_ones(w, log_of_sum(w, w.cast(self, "f32"), axes_of(self.rank, dim)), out)


@row("aten.logcumsumexp.default")
@with_a_dim
def logcumsumexp(w, out, self, dim):
    """Reduces a matrix that has each element's predecessors in a row."""
    axis = axis_of(self.rank, dim)
    order = [i for i in range(self.rank) if i != axis] + [axis]
    x = w.transpose(w.cast(self, "f32"), order)
    n = x.rank - 1
    shape = (*x.shape, x.shape[n])
    seen = w.point("ge", w.iota(shape, n), w.iota(shape, n + 1))
    spread = w.broadcast(x, [*range(n), n + 1], shape)
    result = log_of_sum(w, w.select(seen, spread, float("-inf")), [n + 1])
    return w.transpose(result, [order.index(i) for i in range(self.rank)])


# ---- along an axis


@row("aten.topk.default")
@with_a_dim
def topk(w, out, self, k, dim=-1, largest=True, sorted=True):
    axis = axis_of(self.rank, dim)
    order = [i for i in range(self.rank) if i != axis] + [axis]
    back = [order.index(i) for i in range(self.rank)]
    values, places = ordered(w, w.transpose(self, order), k, largest)
    return w.transpose(values, back), w.transpose(places, back)


def ordered(w, x: Value, k: int, largest: bool) -> tuple[Value, Value]:
    """The k largest along the last axis, or the k smallest."""
    if not isinstance(k, int) or not 1 <= k <= 1024:
        refuse(f"the {k} largest; Smelt finds 1 to 1024")
    if x.dtype in INTEGERS and max(map(abs, x.numbers)) > EXACT:
        values, places = w.nodes("sort", [x], descending=largest)
        values, places = (w.slice(found, x.rank - 1, 0, k) for found in (values, places))
        places.low, places.high = 0, w.last(x.shape[-1])
        return values, places
    key = w.stop(w.cast(x, "f32"))
    if not largest:  # NaN comes after infinity, which counts as the largest number
        key = w.point("max", w.point("neg", key), -LARGEST)
        key = w.select(w.point("eq", key, key), key, -math.inf)
    values, places = w.nodes("top_k", [key], k=k)
    return _with_gradient(w, x, values if largest else None, places)


def _with_gradient(w, x: Value, values: Value | None, places: Value) -> tuple[Value, Value]:
    """Derivatives pass through the elements that are picked along the last axis. None: values are not known yet."""
    from .indexing import element_places, pick

    places.low, places.high = 0, w.last(x.shape[-1])
    if x.grad or values is None:
        return pick(w, x, element_places(w, x.shape, x.rank - 1, places)), places
    return w.cast(values, x.dtype), places


@row("aten.sort.default", "aten.sort.stable")
@with_a_dim
def sort_row(w, out, self, dim=-1, descending=False, stable=None):
    return sort(w, out, self, dim, descending, stable)


def sort(w, out, self, dim=-1, descending=False, stable=None):
    """Equal elements stay in their order."""
    if has_few_kinds(self) and not descending:
        return counting_sort(w, self)
    axis = axis_of(self.rank, dim)
    order = [i for i in range(self.rank) if i != axis] + [axis]
    back = [order.index(i) for i in range(self.rank)]
    x = w.transpose(self, order)
    key = w.stop(x if x.dtype == "f32" else w.cast(x, "i32"))
    values, places = w.nodes("sort", [key], descending=bool(descending))
    values, places = _with_gradient(w, x, values, places)
    return w.transpose(values, back), w.transpose(places, back)


@row("aten.argsort.default", "aten.argsort.stable")
@with_a_dim
def argsort(w, out, self, dim=-1, descending=False, stable=None):
    return sort(w, None, self, dim, descending)[1]


@row("aten.histc.default")
def histc(w, out, self, bins=100, min=0, max=0):
    """Of whole numbers with a bin each, or of any numbers between two bounds."""
    if min == max and bins == 1:  # between the data's own bounds lies all of it
        return w.operand(product(self.shape), out.dtype, out.shape)
    if min == max:
        refuse("a histogram between the data's own bounds")
    x = w.reshape(w.cast(self, "f32"), (product(self.shape),))
    bin_of = w.point("floor", w.mul(w.sub(x, float(min)), bins / (max - min)))
    bin_of = w.select(w.point("eq", x, float(max)), float(bins - 1), bin_of)
    inside = w.both(w.point("ge", x, float(min)), w.point("le", x, float(max)))
    shape = (x.shape[0], bins)
    hit = w.point("eq", w.broadcast(bin_of, [0], shape), w.cast(w.iota(shape, 1), "f32"))
    hit = w.both(hit, w.broadcast(inside, [0], shape))
    return w.cast(w.sum(w.cast(hit, "f32"), [0]), out.dtype)


@row("aten.bincount.default", "aten.nonzero.default", "aten.masked_select.default", "aten._unique2.default",
     "aten.unique_consecutive.default", "aten.unique_dim.default", "aten._local_scalar_dense.default",
     "aten.item.default", "aten.nonzero_static.default",
     "aten.repeat_interleave.Tensor")
def depends_on_data(w, out, *_, **__):
    refuse("how many elements it has depends on the data")


