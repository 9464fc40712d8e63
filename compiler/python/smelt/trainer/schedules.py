"""Learning rate schedules by transformers' names: the factor of the learning rate at each update, from 0 on."""

from __future__ import annotations

import math
from typing import Any, Callable, Mapping, Optional

from ..errors import Error

Factor = Callable[[int], float]


def _passed(step: int, warmup: int, total: int) -> float:
    return (step - warmup) / max(1, total - warmup)


def _constant(step: int, warmup: int, total: int, peak: float) -> float:
    return 1.0


def _linear(step: int, warmup: int, total: int, peak: float) -> float:
    return max(0.0, 1 - _passed(step, warmup, total))


def _half_cosine(cycles: float) -> float:
    return max(0.0, 0.5 * (1 + math.cos(math.pi * cycles)))


def _cosine(step: int, warmup: int, total: int, peak: float, num_cycles: float = 0.5) -> float:
    return _half_cosine(2 * num_cycles * _passed(step, warmup, total))


def _restarts(step: int, warmup: int, total: int, peak: float, num_cycles: int = 1) -> float:
    passed = _passed(step, warmup, total)
    return 0.0 if passed >= 1 else _half_cosine(num_cycles * passed % 1)


def _polynomial(step: int, warmup: int, total: int, peak: float, lr_end: float = 1e-7, power: float = 1.0) -> float:
    if step > total:
        return lr_end / peak
    return ((peak - lr_end) * (1 - _passed(step, warmup, total)) ** power + lr_end) / peak


def _inverse_sqrt(step: int, warmup: int, total: int, peak: float, timescale: Optional[int] = None) -> float:
    scale = timescale or warmup or 10_000
    return 1 / math.sqrt((step + scale - warmup) / scale)


def _minimum_cosine(
    step: int,
    warmup: int,
    total: int,
    peak: float,
    num_cycles: float = 0.5,
    min_lr: Optional[float] = None,
    min_lr_rate: Optional[float] = None,
) -> float:
    if (min_lr is None) == (min_lr_rate is None):
        raise Error("lr_scheduler_kwargs of cosine_with_min_lr: expected one of min_lr and min_lr_rate")
    least = min_lr / peak if min_lr is not None else min_lr_rate
    share = 0.5 * (1 + math.cos(math.pi * 2 * num_cycles * _passed(step, warmup, total)))
    return max(0.0, share * (1 - least) + least)


_DECAYS: Mapping[str, Callable[[float, float], float]] = {
    "linear": lambda passed, cycles: 1 - passed,
    "cosine": lambda passed, cycles: 0.5 * (1 + math.cos(math.pi * cycles * 2 * passed)),
    "1-sqrt": lambda passed, cycles: 1 - math.sqrt(passed),
}


def _stable_decay(
    step: int,
    warmup: int,
    total: int,
    peak: float,
    num_decay_steps: int = 0,
    decay_type: str = "cosine",
    min_lr_ratio: float = 0,
    num_cycles: float = 0.5,
) -> float:
    begin = total - num_decay_steps
    if step < begin:
        return 1.0
    if step >= total:
        return min_lr_ratio
    factor = _DECAYS[decay_type]((step - begin) / max(1, num_decay_steps), num_cycles)
    return max(0.0, factor * (1 - min_lr_ratio) + min_lr_ratio)


SCHEDULES: Mapping[str, Callable[..., float]] = {
    "linear": _linear,
    "cosine": _cosine,
    "cosine_with_restarts": _restarts,
    "polynomial": _polynomial,
    "constant": _constant,
    "constant_with_warmup": _constant,
    "inverse_sqrt": _inverse_sqrt,
    "cosine_with_min_lr": _minimum_cosine,
    "warmup_stable_decay": _stable_decay,
}


def schedule(name: str, peak: float, warmup: int, total: int, options: Optional[Mapping[str, Any]] = None) -> Factor:
    """The factor of `peak` at each update: during the warm-up update / warmup, then by the schedule. As in transformers,
    the first of several warm-up updates has a rate of 0, and "constant" has no warm-up."""
    after, given = SCHEDULES[name], dict(options or {})
    warmup = 0 if name == "constant" else warmup

    least = given.get("min_lr_ratio", 0)  # warmup_stable_decay begins with it, too

    def factor(step: int) -> float:
        rising = step / max(1, warmup)
        return rising * (1 - least) + least if step < warmup else after(step, warmup, total, peak, **given)

    try:
        after(warmup, warmup, total, peak, **given)
    except (TypeError, KeyError) as error:
        raise Error(f"lr_scheduler_kwargs {given} of {name}: {error}") from error
    return factor
