"""Tokenizers in GGUF files: the ids are those of the tokenizers that the files were made from."""

import json
import pathlib

import numpy
import pytest
import torch
import transformers as tf
from conftest import LLAMA

gguf = pytest.importorskip("gguf")
from gguf_files import write_gguf  # noqa: E402
from test_serve_clients import post  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

GOLDENS = pathlib.Path(__file__).resolve().parents[2] / "runtime" / "tokenizers" / "goldens"
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
MARK = "\u2581"
COUNT = 25


def golden(name):
    folder = GOLDENS / name
    texts = [json.loads(line)["text"] for line in (folder / "golden.jsonl").read_text().splitlines()]
    plain = [text for text in texts if text and "\0" not in text and len(text) < 400]
    return json.loads((folder / "tokenizer.json").read_text()), plain[:: max(1, len(plain) // COUNT)]


def add_tokens(writer, made, kind):
    vocabulary = {**made["model"]["vocab"], **{token["content"]: token["id"] for token in made["added_tokens"]}}
    special = {token["content"] for token in made["added_tokens"]}
    tokens = sorted(vocabulary, key=vocabulary.get)
    types = [CONTROL if t in special else BYTE if t.startswith("<0x") else NORMAL for t in tokens]
    writer.add_tokenizer_model(kind)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    return tokens


def write(path, add):
    writer = gguf.GGUFWriter(path, "llama")
    add(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def ids_of(smelt, path, text, *options):
    return json.loads(smelt.good("tokenize", path, f"--text={text}", "--json", *options))["ids"]


@pytest.mark.parametrize("name, words", [("gpt2", "gpt-2"), ("llama3", "llama-bpe"), ("qwen2", "qwen2")])
def test_byte_pairs(smelt, tmp_path, name, words):
    made, texts = golden(name)

    def add(writer):
        add_tokens(writer, made, "gpt2")
        writer.add_tokenizer_pre(words)
        writer.add_token_merges([" ".join(pair) for pair in made["model"]["merges"]])
        writer.add_bos_token_id(0)

    path = write(tmp_path / "m.gguf", add)
    theirs = Tokenizer.from_file(str(GOLDENS / name / "tokenizer.json"))
    for text in texts:
        assert ids_of(smelt, path, text) == theirs.encode(text).ids, text


def pieces_of(text, scores):
    """SentencePiece's algorithm: the neighbours that make the piece of the highest score are merged first."""
    symbols = list((" " + text).replace(" ", MARK))
    while True:
        pairs = [(scores.get(a + b, -numpy.inf), -i) for i, (a, b) in enumerate(zip(symbols, symbols[1:]))]
        best, place = max(pairs, default=(-numpy.inf, 0))
        if best == -numpy.inf:
            return symbols
        symbols[-place : 2 - place] = ["".join(symbols[-place : 2 - place])]


def test_sentence_pieces(smelt, tmp_path):
    made, texts = golden("llama2")
    ranks = {"".join(pair): -rank for rank, pair in reversed(list(enumerate(made["model"]["merges"])))}
    tokens = []

    def add(writer):
        tokens.extend(add_tokens(writer, made, "llama"))
        writer.add_token_scores([float(ranks.get(token, -1000)) for token in tokens])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_unk_token_id(0)

    path = write(tmp_path / "m.gguf", add)
    ids = {token: i for i, token in enumerate(tokens)}
    bytes_of = lambda piece: [ids[f"<0x{byte:02X}>"] for byte in piece.encode()]
    scores = {token: ranks.get(token, -1000) for token in tokens if not token.startswith("<")}
    for text in texts:
        if any(token["content"] in text for token in made["added_tokens"]):
            continue
        wanted = [i for piece in pieces_of(text, scores) for i in ([ids[piece]] if piece in ids else bytes_of(piece))]
        assert ids_of(smelt, path, text) == [1, *wanted], text


def chat_model(saved, path, behind="{{ eos_token }}", end=""):
    """Writes a model with a tokenizer and a chat template. end, behind: texts behind each message, and behind all."""
    made, _ = golden("llama3")
    sizes = {**LLAMA, "vocab_size": 330, "max_position_embeddings": 128}
    _, model = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**sizes, bos_token_id=0, eos_token_id=1))
    template = "{{ bos_token }}{% for m in messages %}{{ m.content }}" + end + "{% endfor %}" + behind

    def add(writer):
        add_tokens(writer, made, "gpt2")
        writer.add_tokenizer_pre("llama-bpe")
        writer.add_token_merges([" ".join(pair) for pair in made["model"]["merges"]])
        writer.add_chat_template(template)

    return write_gguf(model, path, more=add), model


def test_chats_and_texts(smelt, saved, tmp_path):
    """Prompts, chats, and an exported directory."""
    path, model = chat_model(saved, tmp_path / "m.gguf")
    theirs = Tokenizer.from_file(str(GOLDENS / "llama3" / "tokenizer.json"))
    options = ("--prompt", "what is it", "--json", "--max-new-tokens", 4, "--min-new-tokens", 4)
    line = json.loads(smelt.good("generate", path, *options))
    assert line["prompt_ids"] == theirs.encode("what is it").ids
    with torch.no_grad():
        wanted = model.generate(torch.tensor([line["prompt_ids"]]), max_new_tokens=4, min_new_tokens=4, do_sample=False)
    assert line["new_ids"] == wanted[0, len(line["prompt_ids"]) :].tolist()
    chat = json.loads(smelt.good("generate", path, "--chat", *options))
    assert chat["prompt_ids"] == theirs.encode("what is it<|eot_id|>").ids
    smelt.good("export", path, "-o", tmp_path / "exported")
    exported = tf.AutoTokenizer.from_pretrained(tmp_path / "exported")
    assert exported.apply_chat_template([dict(role="user", content="what is it")])["input_ids"] == chat["prompt_ids"]


def test_encoded_rows_are_of_one_model(smelt, saved, tmp_path, monkeypatch):
    """A model with another template reads none of the tokens that were encoded for the first."""
    monkeypatch.setenv("SMELT_CACHE_DIR", str(tmp_path / "cache"))
    chat = [dict(role="user", content="what"), dict(role="assistant", content="it is")]
    (tmp_path / "a.jsonl").write_text((json.dumps(dict(messages=chat)) + "\n") * 40)
    for name, end in [("a", ""), ("b", "?"), ("c", "")]:
        path, _ = chat_model(saved, tmp_path / f"{name}.gguf", "", end)
        rows = ["--data", tmp_path / "a.jsonl", "--messages-field", "messages"]
        smelt.good("train", path, *rows, "--steps", 1, "--batch", 1, "--length", 32)
    assert len([made for made in (tmp_path / "cache" / "data").iterdir() if (made / "ids.i32").exists()]) == 2


def test_serving(smelt, saved, serving, tmp_path):
    path, _ = chat_model(saved, tmp_path / "m.gguf")
    line = json.loads(smelt.good("generate", path, "--prompt", "what is it", "--json", "--max-new-tokens", 4))
    body = dict(model="tiny", prompt="what is it", max_tokens=4, temperature=0)
    answer = post(serving(path), "/v1/completions", body)
    assert answer["usage"]["prompt_tokens"] == len(line["prompt_ids"])
    assert answer["choices"][0]["token_ids"] == line["new_ids"]


@pytest.mark.parametrize("kind, message", [("bert", "a tokenizer 'bert'"), ("gpt2", 'pre is "tekken"')])
def test_other_tokenizers_are_refused(smelt, tmp_path, kind, message):
    def add(writer):
        writer.add_tokenizer_model(kind)
        writer.add_token_list(["a"])
        writer.add_tokenizer_pre("tekken")

    err = smelt.refused("tokenize", write(tmp_path / "m.gguf", add), "--text", "a")
    assert message in err and "give token ids" in err
