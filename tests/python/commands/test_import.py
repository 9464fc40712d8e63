"""smelt COMMAND --import: a family that the frontend does not read becomes a graph through PyTorch."""

import sys

import numpy
import pytest
import torch
import transformers as tf
from safetensors.numpy import save_file

TINY = dict(vocab_size=64, hidden_size=16, num_layers=2, num_heads=2, attention_types=[[["global", "local"], 1]],
            max_position_embeddings=32, bos_token_id=1, eos_token_id=2)  # fmt: skip


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("SMELT_PYTHON", sys.executable)
    torch.manual_seed(0)
    model = tf.GPTNeoForCausalLM(tf.GPTNeoConfig(**TINY)).eval()
    model.save_pretrained(tmp_path / "neo")
    return model


def test_other_families_are_refused_with_the_option(smelt, model, tmp_path):
    err = smelt.refused("generate", tmp_path / "neo", "--ids", "3")
    assert 'model_type "gpt_neo" is not known' in err and "--import NEW_DIR" in err


def test_an_imported_decoder_generates_what_transformers_does(smelt, model, tmp_path):
    expected = model.generate(torch.tensor([[3, 4, 5]]), max_new_tokens=6, do_sample=False)[0, 3:].tolist()
    for _ in range(2):  # the second time from the directory
        options = ("--import", tmp_path / "graph", "--max-new-tokens", "6")
        assert smelt.generated(tmp_path / "neo", [3, 4, 5], *options)[: len(expected)] == expected
    assert (tmp_path / "graph" / "model.ir").is_file()


def test_an_imported_loss_is_trained(smelt, model, tmp_path):
    ids = numpy.random.default_rng(0).integers(3, 64, (16, 12)).astype(numpy.int32)
    save_file({"input_ids": ids, "attention_mask": numpy.ones_like(ids), "labels": ids}, tmp_path / "data.safetensors")
    smelt.good("train", tmp_path / "neo", "--import", tmp_path / "loss", "--data", tmp_path / "data.safetensors", "--steps", "2",
          "--batch", "4", "--run-dir", tmp_path / "run")  # fmt: skip
    assert (tmp_path / "run" / "model" / "model.safetensors").is_file()


def test_a_python_that_is_not_there_is_named(smelt, model, tmp_path, monkeypatch):
    monkeypatch.setenv("SMELT_PYTHON", "no-such-python")
    err = smelt.refused("generate", tmp_path / "neo", "--import", tmp_path / "graph", "--ids", "3")
    assert "SMELT_PYTHON is no-such-python, which is not in PATH" in err
