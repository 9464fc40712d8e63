"""Losses. Of a mean, the sum and the number of what is counted are kept apart: training needs both."""

from __future__ import annotations

from ...builder import Value
from ..registry import row
from .pointwise import soft_maximum
from .reduction import count_as

NONE, MEAN, SUM = 0, 1, 2
"""PyTorch's numbers for `reduction`."""


def reduced(w, losses: Value, counted: Value | None, reduction: int, out_shape) -> Value:
    """`counted` is the weight of each loss in the mean; None: 1."""
    if reduction == NONE:
        return w.reshape(losses, out_shape)
    total = w.sum(losses, range(losses.rank))
    if reduction == SUM:
        return total
    if counted is None:
        count = w.operand(count_as(w, losses.shape), "f32", ())
    else:
        count = w.sum(counted, range(counted.rank))
    mean = w.div(total, count)
    mean.mean = (total, count)
    return mean


def _classes_last(w, x: Value) -> Value:
    """PyTorch has classes in dim 1, or in dim 0 where there is no batch."""
    if x.rank <= 2:
        return x
    return w.transpose(x, [0, *range(2, x.rank), 1])


def _with_fixed_index(w, target: Value, ignore_index) -> tuple[Value, int]:
    """The target that is not counted is a number; where it is a size, as of answers beyond the end, it becomes -100."""
    if isinstance(ignore_index, int):
        return target, ignore_index
    return w.select(w.point("eq", target, ignore_index), -100, target), -100


def _counted(w, target: Value, ignore_index: int) -> Value:
    return w.point("ne", target, ignore_index)


def _classes(w, logits: Value, target: Value, counted: Value) -> Value:
    """The targets, of which one that is no class is an error; 0 for those that are ignored."""
    return w.inside(w.select(counted, target, 0), logits.shape[-1])


def _class_weights(w, weight: Value, target: Value, counted: Value) -> Value:
    safe = w.select(counted, target, 0)
    return w.mul(w.gather(weight, safe, 0), w.cast(counted, "f32"))


@row("aten.cross_entropy_loss.default")
def cross_entropy(w, out, self, target, weight=None, reduction=MEAN, ignore_index=-100, label_smoothing=0.0):
    logits = _classes_last(w, w.cast(self, "f32"))
    if target.dtype == "f32":
        return _against_shares(w, out, logits, _classes_last(w, target), weight, reduction, label_smoothing)
    target, ignore_index = _with_fixed_index(w, w.places(target), ignore_index)
    fields = {"ignore_index": ignore_index}
    if label_smoothing and weight is None:
        fields["label_smoothing"] = float(label_smoothing)
    losses = w.node("cross_entropy", [logits, target], **fields)
    counted = _counted(w, target, ignore_index)
    if weight is None:
        return reduced(w, losses, w.cast(counted, "f32"), reduction, out.shape)
    weights = _class_weights(w, weight, target, counted)
    if label_smoothing:
        return _smoothed_with_weights(w, out, logits, target, weight, weights, counted, reduction, label_smoothing)
    return reduced(w, w.mul(losses, weights), weights, reduction, out.shape)


def _smoothed_with_weights(w, out, logits, target, weight, weights, counted, reduction, smoothing) -> Value:
    """Each class has its weight in the smooth part, too; the mean is over the targets' weights."""
    logs = w.node("log_softmax", [logits])
    hard = w.mul(_picked(w, logs, w.select(counted, target, 0)), weights)
    every = w.mul(logs, w.broadcast(weight, [logits.rank - 1], logits.shape))
    soft = w.select(counted, w.sum(every, [logits.rank - 1]), 0.0)
    share = w.operand(logits.shape[-1], "f32", ())
    losses = w.add(w.mul(hard, 1 - smoothing), w.mul(w.div(soft, share), float(smoothing)))
    return reduced(w, w.point("neg", losses), weights, reduction, out.shape)


def _against_shares(w, out, logits, shares, weight, reduction, label_smoothing) -> Value:
    """Targets that are a share of each class."""
    if label_smoothing:
        classes = logits.shape[-1]
        shares = w.add(w.mul(shares, 1 - label_smoothing), label_smoothing / classes)
    if weight is not None:
        shares = w.mul(shares, w.broadcast(weight, [shares.rank - 1], shares.shape))
    logs = w.node("log_softmax", [logits])
    losses = w.point("neg", w.sum(w.mul(logs, shares), [logits.rank - 1]))
    return reduced(w, losses, None, reduction, out.shape)


def _picked(w, logs: Value, target: Value) -> Value:
    """The element of each row at its target."""
    places = w.iota(logs.shape, logs.rank - 1)
    hit = w.point("eq", places, w.broadcast(target, range(target.rank), logs.shape))
    return w.sum(w.select(hit, logs, 0.0), [logs.rank - 1])


def _nll(w, out, self, target, weight, reduction, ignore_index):
    logs = _classes_last(w, w.cast(self, "f32"))
    target, ignore_index = _with_fixed_index(w, w.places(target), ignore_index)
    counted = _counted(w, target, ignore_index)
    counts = w.cast(counted, "f32") if weight is None else _class_weights(w, weight, target, counted)
    losses = w.point("neg", w.mul(_picked(w, logs, _classes(w, logs, target, counted)), counts))
    return reduced(w, losses, counts, reduction, out.shape), w.sum(counts, range(counts.rank))


@row("aten.nll_loss.default", "aten.nll_loss_nd.default", "aten.nll_loss2d.default")
def nll_loss(w, out, self, target, weight=None, reduction=MEAN, ignore_index=-100):
    return _nll(w, out, self, target, weight, reduction, ignore_index)[0]


@row("aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default")
def nll_loss_forward(w, out, self, target, weight, reduction, ignore_index):
    return _nll(w, out[0], self, target, weight, reduction, ignore_index)


# ---- of pairs of numbers


@row("aten.mse_loss.default")
def mse_loss(w, out, self, target, reduction=MEAN):
    away = w.sub(self, w.cast(target, "f32"))
    return reduced(w, w.mul(away, away), None, reduction, out.shape)


@row("aten.l1_loss.default")
def l1_loss(w, out, self, target, reduction=MEAN):
    return reduced(w, w.point("abs", w.sub(self, w.cast(target, "f32"))), None, reduction, out.shape)


@row("aten.smooth_l1_loss.default")
def smooth_l1_loss(w, out, self, target, reduction=MEAN, beta=1.0):
    size = w.point("abs", w.sub(self, target))
    if beta == 0:
        return reduced(w, size, None, reduction, out.shape)
    near = w.mul(w.mul(size, size), 0.5 / beta)
    losses = w.select(w.point("lt", size, beta), near, w.sub(size, 0.5 * beta))
    return reduced(w, losses, None, reduction, out.shape)


@row("aten.huber_loss.default")
def huber_loss(w, out, self, target, reduction=MEAN, delta=1.0):
    size = w.point("abs", w.sub(self, target))
    far = w.mul(w.sub(size, 0.5 * delta), delta)
    losses = w.select(w.point("le", size, delta), w.mul(w.mul(size, size), 0.5), far)
    return reduced(w, losses, None, reduction, out.shape)


@row("aten.binary_cross_entropy_with_logits.default")
def binary_cross_entropy_with_logits(w, out, self, target, weight=None, pos_weight=None, reduction=MEAN):
    """(1 - t) x + log(1 + exp(-x)), with the share of ones weighed where that is asked for."""
    target = w.cast(target, "f32")
    share = w.add(w.mul(w.sub(pos_weight, 1.0), target), 1.0) if pos_weight is not None else None
    soft = soft_maximum(w, w.point("neg", self))
    soft = w.mul(soft, share) if share is not None else soft
    losses = w.add(w.mul(w.point("sub", 1.0, target), self), soft)
    losses = w.mul(losses, weight) if weight is not None else losses
    return reduced(w, losses, None, reduction, out.shape)


@row("aten.binary_cross_entropy.default")
def binary_cross_entropy(w, out, self, target, weight=None, reduction=MEAN):
    """Logarithms are at least -100, as in PyTorch."""
    yes = w.point("max", w.point("log", self), -100.0)
    no = w.point("max", w.point("log", w.point("sub", 1.0, self)), -100.0)
    losses = w.point("neg", w.add(w.mul(target, yes), w.mul(w.point("sub", 1.0, target), no)))
    spread = w.point("max", w.mul(w.point("sub", 1.0, self), self), 1e-12)
    losses = w.with_slopes(losses, (self, w.div(w.sub(self, target), spread)), (target, w.sub(no, yes)))
    losses = w.mul(losses, weight) if weight is not None else losses
    return reduced(w, losses, None, reduction, out.shape)


