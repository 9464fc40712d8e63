"""The files of a tokenizer: prompts are whole, and what is exported has all of them."""

import json

import pytest
import transformers as tf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.trainers import BpeTrainer


def byte_tokenizer(special=()):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    options = dict(vocab_size=256 + len(special), special_tokens=list(special), initial_alphabet=alphabet)
    made.train_from_iterator(["a b c"], BpeTrainer(**options, show_progress=False))
    return made


def llama(tokenizer):
    return tf.LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=4,
        max_position_embeddings=128,
    )


@pytest.mark.parametrize("section", ["truncation", "padding"])
def test_prompts_are_neither_cut_nor_padded(smelt, saved, section):
    made = byte_tokenizer()
    directory, _ = saved(tf.LlamaForCausalLM, llama(made))
    made.enable_truncation(8) if section == "truncation" else made.enable_padding(length=16, pad_id=7)
    made.save(str(directory / "tokenizer.json"))
    text = "a question that is longer than eight tokens" if section == "truncation" else "short"
    wanted = tf.PreTrainedTokenizerFast(tokenizer_file=str(directory / "tokenizer.json"))(text).input_ids
    line = smelt.good("generate", directory, "--prompt", text, "--json", "--max-new-tokens", 2)
    assert json.loads(line)["prompt_ids"] == wanted


@pytest.mark.parametrize("command", ["train", "export"])
def test_what_is_written_has_the_chat_template_and_the_special_tokens(smelt, saved, tmp_path, command):
    made = byte_tokenizer(["<s>", "</s>"])
    directory, _ = saved(tf.LlamaForCausalLM, llama(made))
    fast = tf.PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")
    fast.chat_template = "{% for m in messages %}<s>{{ m.content }}</s>{% endfor %}"
    fast.save_pretrained(directory)
    (tmp_path / "text.txt").write_text("hello world " * 500)
    run = tmp_path / "run"
    if command == "train":
        data = ("--data", tmp_path / "text.txt", "--steps", 1, "--batch", 2, "--length", 16)
        smelt.good("train", directory, *data, "--run-dir", run)
    else:
        smelt.good("export", directory, "-o", run / "model")
    read = tf.AutoTokenizer.from_pretrained(run / "model")
    assert (read.bos_token, read.eos_token, read.chat_template) == ("<s>", "</s>", fast.chat_template)
