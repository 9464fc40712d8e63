"""Updates of optimisers: for each tensor its new value and new moments."""

from __future__ import annotations

from ..rows import TRAINING, row
from ..scalars import power


def groups(n, kinds):
    """rate, step, then all values, all gradients, all of each moment."""
    tensors = [n.x(i) for i in range(2, len(n.inputs))]
    count = len(tensors) // kinds
    return n.x(0), n.x(1), [tensors[k * count : (k + 1) * count] for k in range(kinds)]


def in_order(results):
    """All values first, then all of each moment."""
    return [each for kind in zip(*results) for each in kind]


@row("Adagrad", domain=TRAINING, out="FLOAT")
def adagrad(n):
    b = n.b
    rate, step, (values, gradients, squares) = groups(n, 3)
    decayed = b.div(rate, b.add(b.mul(b.cast(step, "f32"), n.attribute("decay_factor", 0.0)), 1.0))
    results = []
    for x, g, h in zip(values, gradients, squares):
        g = b.add(b.mul(x, n.attribute("norm_coefficient", 0.0)), g)
        h = b.add(h, b.mul(g, g))
        results.append((b.sub(x, b.div(b.mul(decayed, g), b.add(b.point("sqrt", h), n.attribute("epsilon", 1e-6)))), h))
    return in_order(results)


@row("Momentum", domain=TRAINING, out="FLOAT")
def momentum(n):
    b = n.b
    rate, step, (values, gradients, moments) = groups(n, 3)
    alpha, beta = n.attribute("alpha"), n.attribute("beta")
    share = b.select(b.point("gt", step, 0), beta, 1.0)
    results = []
    for x, g, v in zip(values, gradients, moments):
        g = b.add(b.mul(x, n.attribute("norm_coefficient")), g)
        v = b.add(b.mul(v, alpha), b.mul(g, share))
        move = v if n.attribute("mode") == "standard" else b.add(g, b.mul(v, alpha))
        results.append((b.sub(x, b.mul(rate, move)), v))
    return in_order(results)


@row("Adam", domain=TRAINING, out="FLOAT")
def adam(n):
    b = n.b
    rate, step, (values, gradients, means, squares) = groups(n, 4)
    alpha, beta = n.attribute("alpha", 0.9), n.attribute("beta", 0.999)
    t = b.cast(step, "f32")

    def left(share):
        return b.sub(1.0, power(b, b.constant(share, "f32"), t))

    corrected = b.div(b.mul(rate, b.point("sqrt", left(beta))), left(alpha))
    rate = b.select(b.point("gt", step, 0), corrected, rate)
    results = []
    for x, g, v, h in zip(values, gradients, means, squares):
        g = b.add(b.mul(x, n.attribute("norm_coefficient", 0.0)), g)
        v = b.add(b.mul(v, alpha), b.mul(g, 1 - alpha))
        h = b.add(b.mul(h, beta), b.mul(b.mul(g, g), 1 - beta))
        moved = b.sub(x, b.div(b.mul(rate, v), b.add(b.point("sqrt", h), n.attribute("epsilon", 1e-8))))
        results.append((b.mul(moved, 1 - n.attribute("norm_coefficient_post", 0.0)), v, h))
    return in_order(results)
