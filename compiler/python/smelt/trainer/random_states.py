"""The states of the random numbers that a collator or a dataset may draw: those of Python, NumPy and PyTorch's CPU."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import Any, Iterator, Mapping

import numpy
import torch


def seed_all(seed: int) -> None:
    """As set_seed of transformers."""
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


@contextmanager
def kept_random_states() -> Iterator[None]:
    before = random_states()
    try:
        yield
    finally:
        set_random_states(before)


def random_states() -> dict[str, Any]:
    """As values of JSON."""
    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = numpy.random.get_state()
    return {
        "python": [version, list(words), gauss],
        "numpy": [name, keys.tolist(), position, has_gauss, cached],
        "torch": torch.get_rng_state().tolist(),
    }


def set_random_states(states: Mapping[str, Any]) -> None:
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, *rest = states["numpy"]
    numpy.random.set_state((name, numpy.array(keys, numpy.uint32), *rest))
    torch.set_rng_state(torch.tensor(states["torch"], dtype=torch.uint8))
