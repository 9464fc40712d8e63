"""Connectionist temporal classification: the loss of all alignments of a sequence with a shorter one.

    a[t, s] = y[t, s] + log(exp(a[t-1, s]) + exp(a[t-1, s-1]) + exp(a[t-1, s-2]))

States s are the targets with blanks around each; the last term is left out between equal targets and at blanks. Steps of time
are written out one after the other.
"""

from __future__ import annotations

import math
from typing import Any

from ...builder import Value
from ..registry import refuse, row
from .indexing import element_places, pick
from .loss import MEAN, NONE

MOST_STEPS = 2048
"""More are not written out."""
NEVER = -1e30
"""The logarithm of the probability of what cannot be: not infinite, so that it has a derivative."""


@row("smelt.ctc_loss.default")
def ctc_loss(w, out, log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    single = log_probs.rank == 2
    x = w.reshape(log_probs, (log_probs.shape[0], 1, log_probs.shape[1])) if single else log_probs
    alignment = _Alignment(w, x, targets, input_lengths, target_lengths, blank)
    losses = alignment.losses(zero_infinity)
    if reduction == NONE:
        return w.reshape(losses, out.shape)
    if reduction == MEAN:
        losses = w.div(losses, w.cast(w.point("max", alignment.target_lengths, 1), "f32"))
    total = w.sum(losses, [0])
    return total if reduction != MEAN else w.div(total, w.operand(losses.shape[0], "f32", ()))


class _Alignment:
    """All paths through the states, in logarithms of probabilities."""

    def __init__(self, w: Any, x: Value, targets: Value, input_lengths: Any, target_lengths: Any, blank: int) -> None:
        self.w, self.x, self.blank = w, x, blank
        self.steps = x.shape[0] if isinstance(x.shape[0], int) else w.ranges.most(x.shape[0])
        if self.steps is None or self.steps > MOST_STEPS:
            refuse(f"ctc_loss of more than {MOST_STEPS} steps of time, each of which is written out: give max= a bound")
        batch = x.shape[1]
        size = targets.shape[-1] if targets.rank else 1
        if not isinstance(size, int):
            refuse("ctc_loss of targets of a changing length: pad them to one length")
        self.input_lengths = self._lengths(input_lengths, batch, x.shape[0])
        self.target_lengths = self._lengths(target_lengths, batch, size)
        self.most = self.target_lengths.high if self.target_lengths.high is not None else size
        self.most = min(self.most, size)
        self.targets = self._targets(targets, batch)
        self.states = 2 * self.most + 1

    def _lengths(self, lengths: Value, batch: Any, most: Any) -> Value:
        """Lengths of each row, none of which is beyond `most`."""
        return self.w.inside(self.w.reshape(self.w.places(lengths), (batch,)), most + 1)

    def _targets(self, targets: Value, batch: Any) -> Value:
        """[batch, most], with 0 behind the end of each row: what is there may be anything."""
        w, shape = self.w, (batch, self.most)
        step = w.iota(shape, 1)
        self.counts = w.point("lt", step, w.broadcast(self.target_lengths, [0], shape))
        if self.most == 0:
            return w.constant(0, "i32", shape)
        if targets.rank == 2:
            found = w.slice(targets, 1, 0, self.most)
        else:
            ends = w.scan(self.target_lengths, 0, "add")
            places = w.add(w.broadcast(w.sub(ends, self.target_lengths), [0], shape), step)
            found = w.gather(targets, w.select(self.counts, places, 0), 0)
        return w.inside(w.select(self.counts, w.places(found), 0), self.x.shape[2])

    # ---- states

    def _labels(self) -> tuple[Value, Value]:
        """What each state emits, and whether it may be entered from the one two before: [batch, states]."""
        w, batch = self.w, self.x.shape[1]
        blanks = w.constant(self.blank, "i32", (batch, self.most, 1))
        pairs = w.concat([blanks, w.reshape(self.targets, (batch, self.most, 1))], 2)
        labels = w.reshape(pairs, (batch, 2 * self.most))
        labels = w.concat([labels, w.constant(self.blank, "i32", (batch, 1))], 1)
        labels.low, labels.high = 0, self.x.shape[2] - 1 if isinstance(self.x.shape[2], int) else None
        return labels, w.point("ne", labels, self._behind(labels, 2, self.blank))

    def _behind(self, x: Value, count: int, number: float) -> Value:
        """The elements that many states before, and a number before the first."""
        w, batch, states = self.w, x.shape[0], x.shape[1]
        if count >= states:
            return w.constant(number, x.dtype, x.shape)
        first = w.constant(number, x.dtype, (batch, count))
        return w.concat([first, w.slice(x, 1, 0, states - count)], 1)

    def _emitted(self, labels: Value) -> Value:
        """[time, batch, states]"""
        w = self.w
        shape = (*self.x.shape[:2], self.states)
        places = w.broadcast(labels, [1, 2], shape)
        places.low, places.high = labels.low, labels.high
        return pick(w, w.point("max", self.x, NEVER), element_places(w, self.x.shape, 2, places))

    def _last(self) -> Value:
        """[batch, states] after each row's last step."""
        w = self.w
        labels, skips = self._labels()
        emitted = self._emitted(labels)
        shape = labels.shape
        state = w.select(w.point("eq", w.iota(shape, 1), 0), 0.0, w.constant(NEVER, "f32", shape))
        lengths = w.broadcast(self.input_lengths, [0], shape)
        for t in range(self.steps):
            before = [state, self._behind(state, 1, NEVER), w.select(skips, self._behind(state, 2, NEVER), NEVER)]
            after = w.add(self._at(emitted, t, shape), log_of_sum(w, before))
            state = w.select(w.point("gt", lengths, t), after, state)
        return state

    def _at(self, emitted: Value, t: int, shape: Any) -> Value:
        """Step t, or the last one where there are fewer; what becomes of that is not taken."""
        w, size = self.w, emitted.shape[0]
        if isinstance(size, int):
            return w.reshape(w.slice(emitted, 0, t, 1), shape)
        last = w.sub(w.size(size), 1)
        return w.gather(emitted, w.inside(w.point("min", last, t), size), 0)

    # ---- losses

    def losses(self, zero_infinity: bool) -> Value:
        w, state = self.w, self._last()
        ends = w.broadcast(w.mul(self.target_lengths, 2), [0], state.shape)
        at = w.iota(state.shape, 1)
        is_end = w.point("logical_or", w.point("eq", at, ends), w.point("eq", at, w.sub(ends, 1)))
        ended = w.select(is_end, state, NEVER)
        most = w.stop(w.reduce("max", ended, [1]))
        rest = w.sum(w.point("exp", w.sub(ended, w.broadcast(most, [0], state.shape))), [1])
        loss = w.point("neg", w.add(most, w.point("log", rest)))
        is_possible = w.point("lt", w.stop(loss), -NEVER / 2)
        loss = w.add(loss, self._without_value())
        if zero_infinity:
            return w.select(is_possible, loss, 0.0)
        impossible = w.mul(w.select(is_possible, 1.0, loss), math.inf)  # with a derivative of NaN, as PyTorch's
        return w.select(is_possible, loss, impossible)

    def _without_value(self) -> Value:
        """0 for each row, with the derivative that PyTorch adds to the loss's own: that of a softmax in front of it,
        which a log_softmax takes away again."""
        w, x = self.w, self.x
        if not x.grad:
            return w.constant(0.0, "f32", (x.shape[1],))
        lengths = w.broadcast(self.input_lengths, [1], x.shape)
        counted = w.select(w.point("lt", w.iota(x.shape, 0), lengths), w.point("exp", x), 0.0)
        total = w.sum(counted, [0, 2])
        return w.sub(total, w.stop(total))


def log_of_sum(w, parts: list[Value]) -> Value:
    """log(exp(a) + exp(b) + ...) of finite numbers."""
    most = w.stop(parts[0])
    for part in parts[1:]:
        most = w.point("max", most, w.stop(part))
    total = None
    for part in parts:
        term = w.point("exp", w.sub(part, most))
        total = term if total is None else w.add(total, term)
    return w.add(most, w.point("log", total))
