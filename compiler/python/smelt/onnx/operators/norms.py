"""Normalisations and softmax."""

from __future__ import annotations

from ...builder.sizes import product
from ..rows import Typed, row


def along_last(b, x, axis, function):
    """A function of the last axis, along any."""
    axis %= len(x.shape)
    return b.move(function(b.move(x, axis, -1)), -1, axis)


@row("Softmax", "LogSoftmax")
def softmax(n, x):
    b = n.b
    name = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}[n.node.op_type]
    if n.version < 13:  # over all axes from `axis` on, as one
        axis = n.attribute("axis", 1) % len(x.shape)
        rows = b.reshape(x, (product(x.shape[:axis]), product(x.shape[axis:])))
        return b.reshape(b.node(name, [rows]), x.shape)
    return along_last(b, x, n.attribute("axis", -1), lambda y: b.node(name, [y]))


@row("LayerNormalization", out=None)
def layer_normalization(n, x, scale, bias):
    b, kind = n.b, n.element(0).name
    axis = n.attribute("axis", -1) % len(x.shape)
    eps = n.attribute("epsilon", 1e-5)
    rows, width = x.shape[:axis], product(x.shape[axis:])
    flat = b.reshape(x, rows + (width,))
    weights = [b.reshape(b.spread(w, x.shape[axis:]), (width,)) for w in (scale, bias) if w is not None]
    result = b.node("layer_norm", [flat] + weights, eps=float(eps))
    results = [Typed(b.reshape(result, x.shape), kind)]
    if len(n.node.output) > 1:
        mean = b.mean(flat, [axis])
        centred = b.sub(flat, mean)
        deviation = b.point("rsqrt", b.add(b.mean(b.mul(centred, centred), [axis]), eps))
        kept = rows + (1,) * (len(x.shape) - axis)
        results += [Typed(b.reshape(each, kept), "FLOAT") for each in (mean, deviation)]
    return results


@row("RMSNormalization")
def rms_normalization(n, x, scale):
    b = n.b
    axis = n.attribute("axis", -1) % len(x.shape)
    width = product(x.shape[axis:])
    flat = b.reshape(x, x.shape[:axis] + (width,))
    weight = b.reshape(b.spread(scale, x.shape[axis:]), (width,))
    eps = float(n.attribute("epsilon", 1e-5))
    return b.reshape(b.node("rms_norm", [flat, weight], eps=eps), x.shape)


def centred_and_scaled(b, x, axes, eps):
    d = b.sub(x, b.mean(x, axes))
    return b.mul(d, b.point("rsqrt", b.add(b.mean(b.mul(d, d), axes), eps)))


def per_channel(b, weights, rank, axis=1):
    return b.reshape(weights, [weights.shape[0] if i == axis else 1 for i in range(rank)])


@row("InstanceNormalization")
def instance_normalization(n, x, scale, bias):
    b, rank = n.b, len(x.shape)
    y = centred_and_scaled(b, x, range(2, rank), n.attribute("epsilon", 1e-5))
    return b.add(b.mul(y, per_channel(b, scale, rank)), per_channel(b, bias, rank))


@row("GroupNormalization")
def group_normalization(n, x, scale, bias):
    b, rank = n.b, len(x.shape)
    groups = n.attribute("num_groups")
    grouped = b.reshape(x, (x.shape[0], groups, product(x.shape[1:]) // groups))
    y = b.reshape(centred_and_scaled(b, grouped, [2], n.attribute("epsilon", 1e-5)), x.shape)
    if n.version < 21:  # one number a group
        each = x.shape[1] // groups
        scale, bias = (b.reshape(b.spread(b.unsqueeze(w, 1), (groups, each)), (x.shape[1],)) for w in (scale, bias))
    return b.add(b.mul(y, per_channel(b, scale, rank)), per_channel(b, bias, rank))


@row("BatchNormalization")
def batch_normalization(n, x, scale, bias, mean, variance):
    b, rank = n.b, len(x.shape)
    running = []
    if n.attribute("training_mode", 0):
        axes = [i for i in range(rank) if i != 1]
        found = b.mean(x, axes)
        d = b.sub(x, found)
        spread = b.mean(b.mul(d, d), axes)
        m = n.attribute("momentum", 0.9)
        for old, new in ((mean, found), (variance, spread)):
            running.append(b.add(b.mul(old, m), b.mul(b.reshape(new, (x.shape[1],)), 1 - m)))
        mean, variance = (b.reshape(each, (x.shape[1],)) for each in (found, spread))
    factor = b.mul(scale, b.point("rsqrt", b.add(variance, n.attribute("epsilon", 1e-5))))
    y = b.mul(b.sub(x, per_channel(b, mean, rank)), per_channel(b, factor, rank))
    return [b.add(y, per_channel(b, bias, rank))] + running


@row("LpNormalization")
def lp_normalization(n, x):
    b = n.b
    axis = n.attribute("axis", -1)
    if n.attribute("p", 2) == 1:
        norm = b.reduce("add", b.point("abs", x), [axis], True)
    else:
        norm = b.point("sqrt", b.reduce("add", b.mul(x, x), [axis], True))
    return b.select(b.point("eq", norm, 0.0), 0.0, b.div(x, norm))


@row("MeanVarianceNormalization")
def mean_variance_normalization(n, x):
    b = n.b
    axes = n.attribute("axes", [0, 2, 3])
    d = b.sub(x, b.mean(x, axes))
    return b.div(d, b.add(b.point("sqrt", b.mean(b.mul(d, d), axes)), 1e-9))


@row("LRN")
def local_response(n, x):
    """The sum of squares of the channels around."""
    b = n.b
    size = n.attribute("size")
    before = (size - 1) // 2
    padded = b.pad(b.mul(x, x), 1, before, size - 1 - before)
    total = b.reduce("add", b.windows(padded, 1, x.shape[1], size, 1), [2])
    base = b.add(b.mul(total, n.attribute("alpha", 1e-4) / size), n.attribute("bias", 1.0))
    from ..scalars import power

    return b.div(x, power(b, base, b.constant(n.attribute("beta", 0.75), "f32")))


@row("GlobalAveragePool")
def global_average(n, x):
    return n.b.mean(x, range(2, len(x.shape)))


@row("GlobalMaxPool")
def global_max(n, x):
    return n.b.reduce("max", x, range(2, len(x.shape)), True)
