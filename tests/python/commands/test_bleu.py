"""The metric bleu of `smelt evaluate` against sacrebleu, on what `smelt generate` translates."""

import json
import random

import pytest
import transformers as tf
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ["the", "cat", "sat", "on", "a", "mat", ",", ".", "dog", "ran"]


@pytest.fixture
def bart(saved):
    """A BART of words."""
    vocabulary = {word: i for i, word in enumerate(["<pad>", "</s>", "<s>", "<unk>", *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.add_special_tokens(["<pad>", "</s>", "<s>", "<unk>"])
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    sizes = dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2)
    config = tf.BartConfig(
        vocab_size=len(vocabulary), encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=32, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=None, bos_token_id=2, dropout=0.0, max_length=24, **sizes,
    )  # fmt: skip
    directory, _ = saved(tf.BartForConditionalGeneration, config)
    made.save(str(directory / "tokenizer.json"))
    return directory


def test_bleu_is_that_of_sacrebleu(bart, smelt, tmp_path):
    sacrebleu = pytest.importorskip("sacrebleu")
    draw = random.Random(0)
    pairs = []
    for _ in range(300):
        source = [draw.choice(WORDS) for _ in range(draw.randint(4, 9))]
        pairs.append({"source": " ".join(source), "target": " ".join(source[::2] + source[-2:])})
    data = tmp_path / "pairs.jsonl"
    data.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    fields = ["--data", data, "--prompt-field", "source", "--completion-field", "target"]
    run = tmp_path / "run"
    smelt.good("train", bart, *fields, "--steps", "150", "--lr", "0.01", "--quiet", "--run-dir", run)
    held_back = pairs[-10:]
    few = tmp_path / "few.jsonl"
    few.write_text("".join(json.dumps(pair) + "\n" for pair in held_back))
    found = smelt.good("evaluate", run, "--translations", "10", "--json", "--data", few, *fields[2:])
    bleu = json.loads(found)["bleu"]
    translations = [smelt.good("generate", run, "--prompt", pair["source"]) for pair in held_back]
    expected = sacrebleu.corpus_bleu(translations, [[pair["target"] for pair in held_back]]).score
    assert expected > 1 and bleu == pytest.approx(expected, abs=1e-6), translations
