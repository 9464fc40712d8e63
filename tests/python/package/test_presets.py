"""Presets are the models that they are called after."""

import json

import pytest

import smelt
from smelt.presets import PRESETS

SMALL = {"vocab_size": 99, "hidden": 32, "max_positions": 16}
STACK = {"layers": 1, "heads": 4, "ffn": 128}
CONFIGS = {
    "bert-base": {
        "model_type": "bert",
        "architectures": ["BertForMaskedLM"],
        "vocab_size": 99,
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "max_position_embeddings": 16,
    },
    "gpt2": {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": 99,
        "n_embd": 32,
        "n_layer": 1,
        "n_head": 4,
        "n_positions": 16,
    },
}


def small(name):
    stacks = {part: STACK for part in ("encoder", "decoder") if part in PRESETS[name]}
    return smelt.get_config(name, **SMALL, **stacks)


def graph_of(model):
    text = smelt.compile(model, mode="infer", max={"B": 2, "T": 8}).dump("graph")
    return [line for line in text.splitlines() if not line.startswith("description")]


@pytest.mark.parametrize("name", CONFIGS)
def test_graphs_are_those_of_hugging_faces_configurations(name, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS[name]))
    assert graph_of(small(name)) == graph_of(tmp_path)


@pytest.mark.parametrize("name", PRESETS)
def test_all_of_them_train(name):
    spec = small(name)
    bounds = {"B": 2, "T": 8, **({"S": 8} if {"encoder", "decoder"} <= set(spec) else {})}
    plan = smelt.compile(spec, mode="train", max=bounds)
    assert "train_step" in plan.entries and "logits" in plan.entries
