"""Weights as others store them: read where transformers and PEFT read them, refused where they would be left out."""

import json

import numpy
import pytest
import torch
import transformers as tf
from conftest import LLAMA, edit_json
from safetensors.torch import load_file, save_file



def edit(path, change):
    tensors = load_file(path)
    save_file({name: value.contiguous() for name, value in change(tensors).items()}, path, metadata={"format": "pt"})


def compare_logits(smelt, directory, model, tmp_path):
    ids = numpy.array([[5, 6, 7, 8]], numpy.int32)
    numpy.save(tmp_path / "ids.npy", ids)
    files = ("--input", f"input_ids={tmp_path}/ids.npy", "--save", f"logits={tmp_path}/logits.npy")
    smelt.good("run", directory, "--entry", "logits", *files)
    with torch.no_grad():
        wanted = model(torch.tensor(ids, dtype=torch.long)).logits.numpy()
    numpy.testing.assert_allclose(numpy.load(tmp_path / "logits.npy"), wanted, atol=2e-4)


def test_norms_with_gamma_and_beta(smelt, saved, tmp_path):
    sizes = dict(vocab_size=96, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64)
    directory, model = saved(tf.BertForMaskedLM, tf.BertConfig(**sizes, max_position_embeddings=64))
    old = lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    edit(directory / "model.safetensors", lambda tensors: {old(name): value for name, value in tensors.items()})
    compare_logits(smelt, directory, model, tmp_path)


def test_albert_maps_embeddings_of_the_hidden_width_too(smelt, saved, tmp_path):
    sizes = dict(vocab_size=96, hidden_size=32, embedding_size=32, num_hidden_layers=2, num_attention_heads=4)
    config = tf.AlbertConfig(**sizes, intermediate_size=64, max_position_embeddings=64)
    directory, model = saved(tf.AlbertForMaskedLM, config)
    compare_logits(smelt, directory, model, tmp_path)


@pytest.fixture
def head_adapter(saved, tmp_path):
    """An adapter of lm_head with the head itself beside it, as PEFT saves it."""
    directory, model = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**LLAMA))
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    config = dict(peft_type="LORA", task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules=["lm_head"])
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    prefix = "base_model.model.lm_head"
    tensors = {
        f"{prefix}.lora_A.weight": torch.ones(2, 32) * 0.1,
        f"{prefix}.lora_B.weight": torch.ones(96, 2) * 0.1,
        f"{prefix}.base_layer.weight": model.lm_head.weight.detach().clone(),
    }
    save_file(tensors, adapter / "adapter_model.safetensors", metadata={"format": "pt"})
    return directory, adapter


def test_an_adapter_with_the_head_of_its_base(smelt, head_adapter):
    directory, adapter = head_adapter
    smelt.good("generate", directory, "--adapter", adapter, "--ids", "5 6", "--max-new-tokens", 2)
    smelt.good("export", directory, "--adapter", adapter, "--merge-adapters", "-o", adapter / "merged")


def test_an_adapter_with_another_head_is_refused(smelt, head_adapter):
    directory, adapter = head_adapter
    edit(adapter / "adapter_model.safetensors", lambda t: {n: v + ("base_layer" in n) for n, v in t.items()})
    err = smelt.refused("generate", directory, "--adapter", adapter, "--ids", "5 6")
    assert "base_layer.weight" in err and "other values than the base model has" in err


@pytest.mark.parametrize("change", [0.0, 0.5])
def test_stored_positions_of_marian(smelt, saved, change):
    sizes = dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4)
    tokens = dict(vocab_size=96, pad_token_id=95, eos_token_id=0, decoder_start_token_id=95)
    config = tf.MarianConfig(**sizes, **tokens, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=64)
    directory, model = saved(tf.MarianMTModel, config)
    table = tf.MarianMTModel(config).model.encoder.embed_positions.weight.detach().clone()
    named = {f"model.{side}.embed_positions.weight": table.clone() + change for side in ("encoder", "decoder")}
    edit(directory / "model.safetensors", lambda tensors: {**tensors, **named})
    status, _, err = smelt("generate", directory, "--ids", "5 6", "--max-new-tokens", 2)
    assert status == (1 if change else 0), err
    assert not change or "embed_positions.weight" in err


def test_slow_but_exact(smelt, saved):
    directory, _ = saved(tf.BloomForCausalLM, tf.BloomConfig(vocab_size=96, hidden_size=32, n_layer=1, n_head=4))
    for parts, status in ((1, 0), (2, 1)):
        edit_json(directory / "config.json", slow_but_exact=True, pretraining_tp=parts)
        found, _, err = smelt("generate", directory, "--ids", "5 6", "--max-new-tokens", 2)
        assert found == status, err
        assert status == 0 or "slow_but_exact" in err
