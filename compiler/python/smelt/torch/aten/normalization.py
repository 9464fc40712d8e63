"""Softmax and norms."""

from __future__ import annotations

import math

from ...builder import Value
from ...builder.sizes import product
from ..registry import refuse, row
from .reduction import moments
from .shape import axis_of

LEAST = 1.1920928955078125e-07
"""The eps that PyTorch takes for f32 where none is given."""


def _over_last(w, operation: str, x: Value, axis: int) -> Value:
    if x.rank == 0:
        return w.constant(1.0 if operation == "softmax" else 0.0, "f32", ())
    if axis == x.rank - 1:
        return w.node(operation, [x])
    order = [i for i in range(x.rank) if i != axis] + [axis]
    turned = w.transpose(x, order)
    result = w.node(operation, [turned])
    return w.transpose(result, [order.index(i) for i in range(x.rank)])


@row("aten.softmax.int", "aten._softmax.default")
def softmax(w, out, self, dim, dtype=None, half_to_float=False):
    return _over_last(w, "softmax", w.cast(self, "f32"), axis_of(self.rank, dim))


@row("aten._safe_softmax.default")
def safe_softmax(w, out, self, dim, dtype=None):
    """0 for a row of -inf, of which a softmax is NaN; its gradient is 0, too."""
    x, axis = w.cast(self, "f32"), axis_of(self.rank, dim)
    if x.rank == 0:
        return softmax(w, out, x, dim)
    none = w.along(w.point("eq", w.reduce("max", w.stop(x), [axis]), -math.inf), [axis], x.shape)
    return w.select(none, 0.0, softmax(w, out, w.select(none, 0.0, x) if x.grad else x, dim))


@row("aten.log_softmax.int", "aten._log_softmax.default")
def log_softmax(w, out, self, dim, dtype=None, half_to_float=False):
    return _over_last(w, "log_softmax", w.cast(self, "f32"), axis_of(self.rank, dim))


def _flat_last(w, x: Value, count: int) -> Value:
    """The last `count` dims as one."""
    return x if count == 1 else w.reshape(x, x.shape[: x.rank - count] + (product(x.shape[x.rank - count :]),))


def _layer_norm(w, x: Value, shape, weight, bias, eps) -> Value:
    flat = _flat_last(w, x, len(shape))
    width = (flat.shape[-1],)
    if eps < 0:
        return _layer_norm_by_moments(w, x, flat, weight, bias, eps)
    weight = w.constant(1.0, "f32", width) if weight is None else w.reshape(weight, width)
    operands = [flat, weight] + ([] if bias is None else [w.reshape(bias, width)])
    return w.reshape(w.node("layer_norm", operands, eps=float(eps)), x.shape)


def _layer_norm_by_moments(w, x: Value, flat: Value, weight, bias, eps) -> Value:
    """For an eps below 0, which the operation does not take."""
    axis = flat.rank - 1
    center, variance = moments(w, flat, [axis])
    scale = w.along(w.point("rsqrt", w.add(variance, eps)), [axis], flat.shape)
    result = w.reshape(w.mul(w.sub(flat, w.along(center, [axis], flat.shape)), scale), x.shape)
    result = result if weight is None else w.mul(result, weight)
    return result if bias is None else w.add(result, bias)


@row("aten.layer_norm.default")
def layer_norm(w, out, input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    return _layer_norm(w, w.cast(input, "f32"), normalized_shape, weight, bias, eps)


@row("aten.native_layer_norm.default")
def native_layer_norm(w, out, input, normalized_shape, weight, bias, eps):
    """The statistics have no gradient."""
    result = _layer_norm(w, input, normalized_shape, weight, bias, eps)
    axes = range(input.rank - len(normalized_shape), input.rank)
    center, variance = moments(w, w.stop(input), axes)
    rstd = w.point("rsqrt", w.add(variance, eps))
    return result, w.reshape(center, out[1].shape), w.reshape(rstd, out[2].shape)


@row("aten.rms_norm.default", "aten._fused_rms_norm.default")
def rms_norm(w, out, input, normalized_shape, weight=None, eps=None):
    flat = _flat_last(w, w.cast(input, "f32"), len(normalized_shape))
    width = (flat.shape[-1],)
    weight = w.constant(1.0, "f32", width) if weight is None else w.reshape(weight, width)
    eps = LEAST if eps is None else float(eps)
    result = w.reshape(w.node("rms_norm", [flat, weight], eps=eps), input.shape)
    if not isinstance(out, tuple):
        return result
    mean = w.div(w.sum(w.mul(flat, flat), [flat.rank - 1]), w.operand(width[0], "f32", ()))
    return result, w.reshape(w.point("rsqrt", w.add(mean, eps)), out[1].shape)


def _scaled_by_channel(w, x: Value, weight, bias) -> Value:
    if weight is not None:
        x = w.mul(x, w.broadcast(weight, [1], x.shape))
    return x if bias is None else w.add(x, w.broadcast(bias, [1], x.shape))


def _group_norm(w, x: Value, weight, bias, groups: int, eps: float):
    """Each group of channels of each row by its own mean and variance."""
    rows = w.reshape(x, (x.shape[0], groups, product((x.shape[1] // groups,) + x.shape[2:])))
    center, variance = moments(w, rows, [2])
    rstd = w.point("rsqrt", w.add(variance, eps))
    scaled = w.mul(w.sub(rows, w.along(center, [2], rows.shape)), w.along(rstd, [2], rows.shape))
    return _scaled_by_channel(w, w.reshape(scaled, x.shape), weight, bias), center, rstd


@row("aten.group_norm.default")
def group_norm(w, out, input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    return _group_norm(w, input, weight, bias, num_groups, eps)[0]


@row("aten.native_group_norm.default")
def native_group_norm(w, out, input, weight, bias, N, C, HxW, group, eps):
    result, center, rstd = _group_norm(w, input, weight, bias, group, eps)
    return result, w.reshape(center, out[1].shape), w.reshape(rstd, out[2].shape)


def _by_batch(w, input: Value, weight, bias, eps):
    """The normalized input, and the batch's mean, variance and inverse deviation. As results these have no gradient, which
    PyTorch does not compute."""
    axes = [i for i in range(input.rank) if i != 1]
    center, variance = moments(w, input, axes)
    rstd = w.point("rsqrt", w.add(variance, eps))
    away = w.sub(input, w.broadcast(center, [1], input.shape))
    x = w.mul(away, w.broadcast(rstd, [1], input.shape))
    return _scaled_by_channel(w, x, weight, bias), w.stop(center), w.stop(variance), w.stop(rstd)


@row("aten._native_batch_norm_legit_functional.default")
def batch_norm_in_training(w, out, input, weight, bias, running_mean, running_var, training, momentum, eps):
    """By the batch's moments, which move the running ones; the variance that is kept is the unbiased one."""
    if not training:
        scaled = _by_running(w, input, weight, bias, running_mean, running_var, eps)
        empty = w.constant(0.0, "f32", (0,))
        return scaled, empty, empty, running_mean, running_var
    x, center, variance, rstd = _by_batch(w, input, weight, bias, eps)
    count = w.operand(product(input.shape[:1] + input.shape[2:]), "f32", ())
    unbiased = w.mul(variance, w.broadcast(w.div(count, w.sub(count, 1.0)), [], variance.shape))
    kept = [
        w.add(w.mul(old, 1.0 - momentum), w.mul(new, momentum))
        for old, new in ((running_mean, center), (running_var, unbiased))
    ]
    return x, center, rstd, *kept


@row("aten._native_batch_norm_legit.no_stats")
def batch_norm_of_batch(w, out, input, weight, bias, training, momentum, eps):
    """By the batch's own moments, which are kept nowhere."""
    x, center, _, rstd = _by_batch(w, input, weight, bias, eps)
    return x, center, rstd


def _by_running(w, input: Value, weight, bias, running_mean, running_var, eps) -> Value:
    scale = w.point("rsqrt", w.add(running_var, eps))
    x = w.sub(input, w.broadcast(running_mean, [1], input.shape))
    return _scaled_by_channel(w, w.mul(x, w.broadcast(scale, [1], input.shape)), weight, bias)


@row("aten.batch_norm.default", "aten._native_batch_norm_legit_no_training.default")
def batch_norm(
    w, out, input, weight, bias, running_mean, running_var, momentum, eps, training=False, cudnn_enabled=True
):
    if training or running_mean is None:
        refuse("a batch norm that changes its running moments in place: torch.export gives another operation for it")
    x = _by_running(w, input, weight, bias, running_mean, running_var, eps)
    empty = w.constant(0.0, "f32", (0,)) if isinstance(out, tuple) else None
    return (x, empty, empty) if isinstance(out, tuple) else x

