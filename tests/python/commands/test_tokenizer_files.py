"""The files of a tokenizer: prompts are whole, and what is exported has all of them."""

import json
import unicodedata

import pytest
import transformers as tf
from conftest import LLAMA
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
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
    return tf.LlamaConfig(**{**LLAMA, "vocab_size": tokenizer.get_vocab_size(), "max_position_embeddings": 128})


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


@pytest.mark.parametrize("expression", [r"[\p{Lu}\p{Lt}]?\p{L}+|\p{N}|\p{M}+|[\p{P}\p{S}]", r"\w\w|\w|[^\w]+"])
def test_expressions_on_code_points_of_new_versions_of_unicode(smelt, tmp_path, expression):
    made = byte_tokenizer()
    split = pre_tokenizers.Split(Regex(expression), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    new = [chr(c) for c in range(0x800, 0x323B0) if unicodedata.category(chr(c)) == "Cn"]
    texts = ["a" + c + "1" + c + c + "!" for c in new]
    pairs = made.pre_tokenizer.pre_tokenize_str
    words = sorted({piece for text in texts for piece, _ in pairs(text)})
    vocabulary = {word: i for i, word in enumerate(words)}
    made.model = models.WordLevel(vocabulary, unk_token=words[0])
    made.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "text.txt").write_text("\n".join(texts) + "\n")
    printed = smelt.good("tokenize", tmp_path, "--file", tmp_path / "text.txt").split()
    assert printed == [str(i) for i in made.encode("\n".join(texts) + "\n").ids]
