"""generation_config.json and config.json: what transformers reads of them is read, or refused by name."""

import json

import pytest
import torch
import transformers as tf
from conftest import LLAMA, edit_json

BART = dict(
    vocab_size=96,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=48,
    decoder_ffn_dim=48,
    max_position_embeddings=64,
    pad_token_id=1,
    bos_token_id=0,
    eos_token_id=2,
    decoder_start_token_id=2,
)
IDS = [5, 6, 7, 8]


def write(directory, name, **fields):
    if name == "generation_config.json":
        (directory / name).unlink(missing_ok=True)
    edit_json(directory / name, **fields)


def expected(directory, model_class, prompt, **options):
    model = model_class.from_pretrained(directory)
    found = model.generate(torch.tensor([prompt]), do_sample=False, **options)[0].tolist()
    return found[1:] if model.config.is_encoder_decoder else found[len(prompt) :]


def test_config_json_without_a_generation_config(smelt, saved):
    directory, _ = saved(tf.BartForConditionalGeneration, tf.BartConfig(**BART))
    (directory / "generation_config.json").unlink(missing_ok=True)
    write(directory, "config.json", num_beams=4, no_repeat_ngram_size=3, min_length=10, forced_bos_token_id=0)
    wanted = expected(directory, tf.BartForConditionalGeneration, IDS, max_new_tokens=18)
    assert smelt.generated(directory, IDS, "--max-new-tokens", 18) == wanted


def test_config_json_is_not_asked_beside_an_empty_file(smelt, saved):
    directory, _ = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**LLAMA))
    write(directory, "config.json", no_repeat_ngram_size=1, max_length=7)
    write(directory, "generation_config.json")
    assert smelt.generated(directory, IDS) == expected(directory, tf.LlamaForCausalLM, IDS)


def test_max_length_counts_the_decoders_prompt(smelt, saved):
    directory, _ = saved(tf.BartForConditionalGeneration, tf.BartConfig(**BART))
    length = dict(max_length=40, num_beams=4, min_length=30, forced_eos_token_id=2)
    tokens = dict(decoder_start_token_id=2, eos_token_id=2, pad_token_id=1)
    write(directory, "generation_config.json", **length, **tokens)
    assert smelt.generated(directory, IDS) == expected(directory, tf.BartForConditionalGeneration, IDS)


@pytest.mark.parametrize("beams", [1, 3])
def test_max_length_of_prompts_of_several_lengths(smelt, saved, beams, tmp_path):
    directory, _ = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**LLAMA))
    write(directory, "generation_config.json", max_length=12, num_beams=beams, eos_token_id=2)
    prompts = [IDS, IDS[:2], IDS + IDS[:3], IDS[:2][::-1]]
    lines = tmp_path / "prompts.jsonl"
    lines.write_text("".join(json.dumps({"ids": prompt}) + "\n" for prompt in prompts))
    printed = smelt.good("generate", directory, "--prompts", lines, "--json").splitlines()
    found = [json.loads(line)["new_ids"] for line in printed]
    assert found == [expected(directory, tf.LlamaForCausalLM, prompt) for prompt in prompts]
    longer = smelt.generated(directory, IDS, "--max-new-tokens", 20)
    assert longer == expected(directory, tf.LlamaForCausalLM, IDS, max_new_tokens=20)
    err = smelt.refused("generate", directory, "--ids", " ".join(["5"] * 12))
    assert "leave no room for new ones in a max_length of 12" in err


@pytest.mark.parametrize(
    "fields, part",
    [
        (dict(stop_strings=["a"]), "stop_strings"),
        (dict(dola_layers="high"), "dola_layers"),
        (dict(max_time=2.5), "max_time"),
        (dict(token_healing=True), "token_healing"),
        (dict(penalty_alpha=0.6), "penalty_alpha"),
        (dict(typical_p=0.5), "typical_p"),
        (dict(max_length="long"), "max_length"),
    ],
)
@pytest.mark.parametrize("name", ["generation_config.json", "config.json"])
def test_fields_that_change_the_result_are_refused(smelt, saved, fields, part, name):
    directory, _ = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**LLAMA))
    (directory / "generation_config.json").unlink(missing_ok=True)
    write(directory, name, **fields)
    assert part in smelt.refused("generate", directory, "--ids", "5 6")


def test_fields_of_no_effect_are_taken_and_unknown_ones_told(smelt, saved):
    directory, _ = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**LLAMA))
    harmless = dict(use_cache=False, output_scores=True, num_assistant_tokens=5, transformers_version="4.40.0")
    write(directory, "generation_config.json", **harmless, typical_p=1.0, a_new_field=3)
    status, out, err = smelt("generate", directory, "--ids", "5 6", "--json")
    assert status == 0 and "a_new_field is not read" in err and "use_cache" not in err


def test_do_sample_is_switched_off(smelt, saved):
    directory, _ = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**LLAMA))
    write(directory, "generation_config.json", do_sample=True, temperature=50.0)
    greedy = expected(directory, tf.LlamaForCausalLM, IDS)
    for option in ("--do-sample=false", "--no-do-sample"):
        assert smelt.generated(directory, IDS, option) == greedy
    assert smelt.generated(directory, IDS) != greedy


@pytest.mark.parametrize("model", ["Bert", "DistilBert", "Roberta"])
def test_masked_language_models_write_no_text(smelt, saved, model):
    sizes = dict(vocab_size=96, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64)
    if model == "DistilBert":
        sizes = dict(vocab_size=96, dim=32, n_layers=1, n_heads=4, hidden_dim=64)
    config = getattr(tf, f"{model}Config")(**sizes, max_position_embeddings=66)
    directory, _ = saved(getattr(tf, f"{model}ForMaskedLM"), config)
    err = smelt.refused("generate", directory, "--ids", "5 6", "--max-new-tokens", 4)
    assert f"{model}ForMaskedLM writes no text" in err
