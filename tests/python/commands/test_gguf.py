"""GGUF files: their floats are those of the package gguf, and their models generate what transformers generates."""

import copy

import numpy
import pytest
import torch
import transformers as tf
from conftest import LLAMA
from safetensors.torch import load_file

gguf = pytest.importorskip("gguf")
from gguf_files import QUANTISED, Type, from_rotary_pairs, random_blocks, write_gguf  # noqa: E402

WIDE = {**LLAMA, "hidden_size": 256, "intermediate_size": 256, "num_key_value_heads": 2}
IDS = [5, 6, 7, 8]
COUNT = ("--max-new-tokens", 8, "--min-new-tokens", 8)


def exported(smelt, path, tmp_path):
    smelt.good("export", path, "-o", tmp_path / "exported")
    return load_file(tmp_path / "exported" / "model.safetensors")


def generated(model, count=8):
    with torch.no_grad():
        ids = model.generate(torch.tensor([IDS]), max_new_tokens=count, min_new_tokens=count, do_sample=False)
    return ids[0, len(IDS) :].tolist()


def restored(name, value, config):
    if "q_proj" in name:
        return from_rotary_pairs(value, config.num_attention_heads)
    return from_rotary_pairs(value, config.num_key_value_heads) if "k_proj" in name else value


def loaded(model, weights):
    """The model with other weights."""
    other = copy.deepcopy(model)
    other.load_state_dict(weights, strict=False)
    return other


@pytest.mark.parametrize("kind", QUANTISED, ids=lambda kind: kind.name)
def test_floats_are_those_of_the_package(smelt, saved, tmp_path, kind):
    _, model = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**WIDE))
    wanted = {}

    def quantise(name, value):
        blocks = random_blocks(value.shape, kind, seed=len(wanted))
        wanted[name] = restored(name, gguf.quants.dequantize(blocks, kind), model.config)
        return blocks, kind

    found = exported(smelt, write_gguf(model, tmp_path / "m.gguf", quantise), tmp_path)
    assert len(wanted) == 9
    for name, value in wanted.items():
        assert numpy.array_equal(found[name].numpy().view(numpy.uint32), value.view(numpy.uint32)), name


@pytest.mark.parametrize("kind", [Type.F32, Type.F16, Type.BF16, Type.Q8_0, Type.Q4_0], ids=lambda kind: kind.name)
def test_generates_what_transformers_generates(smelt, saved, tmp_path, kind):
    _, model = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**{**WIDE, "num_hidden_layers": 2}))
    weights = {}

    def quantise(name, value):
        stored = gguf.quants.quantize(value, kind)
        weights[name] = torch.tensor(restored(name, gguf.quants.dequantize(stored, kind), model.config))
        return stored, kind

    path = write_gguf(model, tmp_path / "m.gguf", quantise)
    theirs = loaded(model, weights)
    assert smelt.generated(path, IDS, *COUNT) == generated(theirs)


MODELS = {
    "llama-tied": (tf.LlamaForCausalLM, tf.LlamaConfig(**LLAMA, tie_word_embeddings=True)),
    "llama-linear": (
        tf.LlamaForCausalLM,
        tf.LlamaConfig(**LLAMA, rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=5000.0)),
    ),
    "llama-yarn": (
        tf.LlamaForCausalLM,
        tf.LlamaConfig(
            **{**LLAMA, "max_position_embeddings": 128},
            rope_parameters=dict(
                rope_type="yarn", factor=4.0, original_max_position_embeddings=32, rope_theta=10000.0
            ),
        ),
    ),
    "mistral": (tf.MistralForCausalLM, tf.MistralConfig(**LLAMA, num_key_value_heads=2, sliding_window=3)),
    "qwen2": (tf.Qwen2ForCausalLM, tf.Qwen2Config(**LLAMA, num_key_value_heads=2)),
    "qwen3": (tf.Qwen3ForCausalLM, tf.Qwen3Config(**LLAMA, num_key_value_heads=2, head_dim=16)),
    "gemma": (tf.GemmaForCausalLM, tf.GemmaConfig(**LLAMA, num_key_value_heads=2, head_dim=16)),
    "gemma2": (
        tf.Gemma2ForCausalLM,
        tf.Gemma2Config(
            **{**LLAMA, "num_hidden_layers": 2},
            num_key_value_heads=2,
            head_dim=16,
            query_pre_attn_scalar=16,
            sliding_window=3,
        ),
    ),
    "gpt2": (tf.GPT2LMHeadModel, tf.GPT2Config(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=64)),
}


@pytest.mark.parametrize("family", MODELS)
def test_families(smelt, saved, tmp_path, family):
    model_class, config = MODELS[family]
    config = copy.deepcopy(config)
    _, model = saved(model_class, config)
    path = write_gguf(model, tmp_path / "m.gguf")
    assert smelt.generated(path, IDS, *COUNT) == generated(model)
    found = exported(smelt, path, tmp_path)
    theirs = tf.AutoModelForCausalLM.from_pretrained(tmp_path / "exported")
    assert type(theirs) is model_class
    for name, value in model.state_dict().items():
        if name in found and not (family.startswith("gemma") and "norm" in name):
            assert torch.equal(found[name], value), name


def llama3_factors(parameters, theta, width):
    frequency = theta ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    length = 2 * torch.pi / frequency
    old, factor = parameters["original_max_position_embeddings"], parameters["factor"]
    part = (old / length - parameters["low_freq_factor"]) / (
        parameters["high_freq_factor"] - parameters["low_freq_factor"]
    )
    return (1 / ((1 - part.clamp(0, 1)) / factor + part.clamp(0, 1))).float().numpy()


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_factors_of_llama3(smelt, saved, tmp_path, factor):
    parameters = dict(
        rope_type="llama3",
        rope_theta=500000.0,
        factor=factor,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
        original_max_position_embeddings=8192,
    )
    sizes = {**LLAMA, "hidden_size": 128, "max_position_embeddings": 16384}
    _, model = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**sizes, rope_parameters=parameters))
    factors = llama3_factors(parameters, 500000.0, 32)
    path = write_gguf(model, tmp_path / "m.gguf", more=lambda writer: writer.add_tensor("rope_freqs.weight", factors))
    options = (*COUNT, "--max", "T=64")
    assert smelt.generated(path, IDS, *options) == generated(model)
    exported(smelt, path, tmp_path)
    config = tf.AutoConfig.from_pretrained(tmp_path / "exported")
    assert config.rope_parameters["rope_type"] == "llama3" and config.rope_parameters["factor"] == factor
    factors[3] *= 1.5
    path = write_gguf(model, tmp_path / "m.gguf", more=lambda writer: writer.add_tensor("rope_freqs.weight", factors))
    assert "rope_freqs.weight: element 3" in smelt.refused("generate", path, "--ids", "5 6")


@pytest.mark.parametrize("scale", [numpy.nan, numpy.inf, 0.0])
def test_scales_that_are_no_numbers(smelt, saved, tmp_path, scale):
    _, model = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**WIDE))

    def quantise(name, value):
        blocks = random_blocks(value.shape, Type.Q4_0)
        if "up_proj" in name:
            blocks[2, 18:20] = numpy.array([scale], numpy.float16).view(numpy.uint8)
        return blocks, Type.Q4_0

    path = write_gguf(model, tmp_path / "m.gguf", quantise)
    status, _, err = smelt("generate", path, "--ids", "5 6", "--max-new-tokens", 1)
    assert status == (0 if scale == 0 else 1), err
    assert scale == 0 or ("mlp.up_proj.weight' (Q4_0 [256,256])" in err and "row 2" in err)


def refusal(smelt, saved, tmp_path, more=lambda writer: None, quantise=lambda name, value: (value, None)):
    _, model = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**LLAMA))
    return smelt.refused("generate", write_gguf(model, tmp_path / "m.gguf", quantise, more), "--ids", "5 6")


def test_other_types_are_refused_by_name(smelt, saved, tmp_path):
    kind = Type.TQ1_0
    sizes = gguf.GGML_QUANT_SIZES[kind]
    _, model = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**WIDE))
    blocks = lambda name, value: (numpy.zeros((value.shape[0], value.shape[1] // sizes[0] * sizes[1]), numpy.uint8), kind)
    err = smelt.refused("generate", write_gguf(model, tmp_path / "m.gguf", blocks), "--ids", "5 6")
    assert "TQ1_0 is not read: expected one of F32, F16" in err


def test_unknown_metadata_are_refused(smelt, saved, tmp_path):
    err = refusal(smelt, saved, tmp_path, lambda writer: writer.add_float32("llama.attention.scale", 0.25))
    assert "llama.attention.scale is 0.25, which changes the maths" in err


def test_unknown_tensors_are_refused(smelt, saved, tmp_path):
    extra = numpy.ones(32, numpy.float32)
    err = refusal(smelt, saved, tmp_path, lambda writer: writer.add_tensor("blk.0.attn_sinks.weight", extra))
    assert "blk.0.attn_sinks.weight" in err and "no place for" in err


def test_other_architectures_are_refused(smelt, tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "mamba")
    writer.add_tensor("token_embd.weight", numpy.ones((4, 4), numpy.float32))
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file(), writer.close()
    err = smelt.refused("generate", tmp_path / "m.gguf", "--ids", "5 6")
    assert 'general.architecture "mamba" is not read: expected one of gemma, gemma2, gpt2, llama' in err
