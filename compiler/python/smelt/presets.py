"""Specs (docs/guides/models.md) of models that everybody knows, by name."""

from __future__ import annotations

import copy
from typing import Any

from .errors import Error


def _stack(layers: int, heads: int, ffn: int) -> dict[str, int]:
    return {"layers": layers, "heads": heads, "ffn": ffn}


def _bert(hidden: int, layers: int, heads: int) -> dict[str, Any]:
    return {
        "family": "bert",
        "vocab_size": 30522,
        "hidden": hidden,
        "max_positions": 512,
        "encoder": _stack(layers, heads, 4 * hidden),
        "embedding": {"token_types": 2, "frozen_padding": True},
        "head": {"kind": "mlm", "bias": True},
        "tokens": {"pad": 0},
    }


def _gpt2(hidden: int, layers: int, heads: int) -> dict[str, Any]:
    return {
        "family": "gpt2",
        "vocab_size": 50257,
        "hidden": hidden,
        "max_positions": 1024,
        "decoder": _stack(layers, heads, 4 * hidden),
    }


def _transformer(hidden: int, heads: int, ffn: int) -> dict[str, Any]:
    """Of "Attention is all you need", for 37,000 shared words, which begin with <s>, padding and </s>."""
    return {
        "family": "transformer",
        "vocab_size": 37000,
        "hidden": hidden,
        "max_positions": 1024,
        "encoder": _stack(6, heads, ffn),
        "decoder": _stack(6, heads, ffn),
        "norm": {"place": "post", "final": False},
        "ffn": {"activation": "relu"},
        "positions": {"kind": "sinusoidal"},
        "embedding": {"scaled": True},
        "tokens": {"pad": 1, "eos": [2], "decoder_start": 2},
    }


PRESETS: dict[str, dict[str, Any]] = {
    "bert-base": _bert(768, 12, 12),
    "bert-large": _bert(1024, 24, 16),
    "gpt2": _gpt2(768, 12, 12),
    "gpt2-medium": _gpt2(1024, 24, 16),
    "gpt2-large": _gpt2(1280, 36, 20),
    "gpt2-xl": _gpt2(1600, 48, 25),
    "transformer-base": _transformer(512, 8, 2048),
    "transformer-big": _transformer(1024, 16, 4096),
}


def get_config(model: str, **changes: Any) -> dict[str, Any]:
    """The spec of a model by name, with fields changed: get_config("bert-base", vocab_size=1000). smelt.compile takes
    it, and json.dump makes a spec.json of it."""
    if model not in PRESETS:
        raise Error(f"there is no preset '{model}'; there are {', '.join(PRESETS)}")
    return {**copy.deepcopy(PRESETS[model]), **changes}
