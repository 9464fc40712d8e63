"""Margin losses over classes: of one right class a row, and of several. A term of exactly 0, or a NaN, counts nothing and
has no gradient, as in PyTorch's kernels. (PyTorch's own decompositions differ from these kernels in shapes, and in some
versions in values.)"""

from __future__ import annotations

from ...builder import Value
from ..registry import refuse, row
from .loss import MEAN, NONE, reduced
from .scan import running_sum


def _rows(x: Value):
    """Rows and classes; a vector is one row, a number one row of one class."""
    return (1, 1, *x.shape)[-2:]


def _known_shape(traced, real) -> None:
    """Without a batch PyTorch traces a loss of one element where its kernels have a number."""
    if len(traced) != len(real):
        refuse('reduction="none" without a batch, which PyTorch traces with a shape that it does not have; add a dim of 1')


def _above_zero(w, z: Value, counts: Value) -> Value:
    return w.select(w.both(counts, w.point("gt", z, 0.0)), z, 0.0)


def _share_of_classes(w, terms: Value, axes) -> Value:
    """The sum over these axes by the number of classes, which are last."""
    total = w.sum(terms, axes)
    return w.div(total, w.operand(terms.shape[-1], "f32", total.shape))


@row("aten.multi_margin_loss.default")
def multi_margin(w, out, self, target, p=1, margin=1, weight=None, reduction=MEAN):
    _known_shape(out.shape, target.shape if reduction == NONE else ())
    shape = _rows(self)
    scores = w.reshape(w.cast(self, "f32"), shape)
    target = w.inside(w.reshape(w.places(target), shape[:1]), shape[1])
    own = w.point("eq", w.iota(shape, 1), w.broadcast(target, [0], shape))
    score = w.broadcast(w.sum(w.select(own, scores, 0.0), [1]), [0], shape)
    terms = _above_zero(w, w.add(w.point("sub", float(margin), score), scores), w.point("logical_not", own))
    if p == 2:
        terms = w.mul(terms, terms)
    if weight is not None:
        weights = w.gather(w.reshape(w.cast(weight, "f32"), shape[1:]), target, 0)
        terms = w.mul(terms, w.broadcast(weights, [0], shape))
    return reduced(w, _share_of_classes(w, terms, [1]), None, reduction, out.shape)


@row("aten.multilabel_margin_loss_forward.default")
def multilabel_margin(w, out, self, target, reduction):
    """A row's right classes stand before its first -1. Beside the loss: which classes those are."""
    _known_shape(out[0].shape, self.shape[:-1] if reduction == NONE else ())
    rows, classes = shape = _rows(self)
    scores = w.reshape(w.cast(self, "f32"), shape)
    target = w.reshape(w.places(target), shape)
    ended = running_sum(w, w.cast(w.point("eq", target, -1), "i32"), 1)
    named = w.point("eq", ended, 0)
    target = w.inside(w.select(named, target, 0), classes)
    cube = (rows, classes, classes)  # rows, places in the target, classes
    own = w.point("eq", w.iota(cube, 2), w.broadcast(target, [0, 1], cube))
    score = w.sum(w.select(own, w.broadcast(scores, [0, 2], cube), 0.0), [2])
    named = w.broadcast(named, [0, 1], cube)
    right = w.reduce("max", w.cast(w.both(own, named), "i32"), [1])
    wrong = w.broadcast(w.point("eq", right, 0), [0, 2], cube)
    above = w.point("sub", 1.0, w.broadcast(score, [0, 1], cube))
    terms = _above_zero(w, w.add(above, w.broadcast(scores, [0, 2], cube)), w.both(named, wrong))
    losses = _share_of_classes(w, terms, [1, 2])
    return reduced(w, losses, None, reduction, out[0].shape), w.reshape(w.cast(right, out[1].dtype), out[1].shape)
