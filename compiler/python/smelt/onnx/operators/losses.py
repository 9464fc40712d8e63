"""Losses over classes: logits are [batch, classes, ...], targets [batch, ...]."""

from __future__ import annotations

from ..rows import Typed, row


def weighted_losses(n, log_probabilities, targets, weights):
    """The loss of each target, and what it counts."""
    b = n.b
    classes = log_probabilities.shape[1]
    ignored = b.point("eq", targets, n.attribute("ignore_index")) if n.given("ignore_index") else None
    places = targets if ignored is None else b.select(ignored, 0, targets)
    hit = b.point("eq", b.iota(log_probabilities.shape, 1), b.unsqueeze(places, 1))
    losses = b.point("neg", b.reduce("add", b.select(hit, log_probabilities, 0.0), [1]))
    counts = b.constant(1.0, "f32", targets.shape)
    if weights is not None:
        counts = b.gather(b.reshape(weights, (classes,)), places, 0)
    if ignored is not None:
        counts = b.select(ignored, 0.0, counts)
    return b.mul(losses, counts), counts


def reduced(n, losses, counts):
    b, axes = n.b, range(len(losses.shape))
    how = n.attribute("reduction", "mean")
    if how == "none":
        return losses
    total = b.reduce("add", losses, axes)
    return total if how == "sum" else b.div(total, b.reduce("add", counts, axes))


@row("NegativeLogLikelihoodLoss")
def negative_log_likelihood(n, x, targets, weights):
    return reduced(n, *weighted_losses(n, x, targets, weights))


@row("SoftmaxCrossEntropyLoss", out=None)
def softmax_cross_entropy(n, x, targets, weights):
    b, kind = n.b, n.element(0).name
    moved = b.move(x, 1, -1)
    log_probabilities = b.move(b.node("log_softmax", [moved]), -1, 1)
    loss = reduced(n, *weighted_losses(n, log_probabilities, targets, weights))
    return [Typed(loss, kind), Typed(log_probabilities, kind)][: len(n.node.output)]
