"""Rows of texts in files that pyarrow writes: what `smelt train` reads of them, and what it says about those it does not."""

import gzip
import json
import random
import subprocess
import sys

import numpy
import pytest
import transformers
from conftest import LLAMA, SMELT
from test_tokenizer_files import byte_tokenizer

pa = pytest.importorskip("pyarrow")
import pyarrow.csv  # noqa: E402
import pyarrow.feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

TEXTS = [f"text {i}: " + "äöß "[i % 4] * (i % 7) for i in range(3000)]
SPEC = dict(family="gpt2", vocab_size=256, hidden=16, max_positions=64, decoder=dict(layers=1, heads=2))


@pytest.fixture
def read(smelt, tmp_path, monkeypatch):
    """The texts of the documents that a training run has read: its tokens are bytes, which are in the cache."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("SMELT_CACHE_DIR", str(cache))
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))

    def documents(path, *options):
        before = set((cache / "data").iterdir()) if (cache / "data").exists() else set()
        smelt.good("train", tmp_path / "spec.json", "--data", path, "--steps", 1, "--batch", 1, "--quiet", *options)
        texts = []
        for made in sorted(set((cache / "data").iterdir()) - before):
            ids = numpy.fromfile(made / "ids.i32", dtype=numpy.int32).astype(numpy.uint8).tobytes()
            ends = numpy.fromfile(made / "ends.i64", dtype=numpy.int64)
            texts += [ids[a:b].decode() for a, b in zip([0, *ends[:-1]], ends)]
        return texts

    return documents


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_parquet(read, tmp_path, compression, version, dictionary):
    table = pa.table(dict(id=range(len(TEXTS)), text=TEXTS))
    options = dict(compression=compression, data_page_version=version, use_dictionary=dictionary)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700, data_page_size=2000, **options)
    assert read(tmp_path / "a.parquet") == TEXTS


@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "PLAIN"])
def test_encodings_of_parquet(read, tmp_path, encoding):
    table = pa.table(dict(text=TEXTS))
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=False, column_encoding=dict(text=encoding))
    assert read(tmp_path / "a.parquet") == TEXTS


def test_what_is_not_read_of_parquet_is_named(smelt, read, tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    arguments = ("train", tmp_path / "spec.json", "--data", tmp_path / "a.parquet", "--steps", 1)
    pq.write_table(pa.table(dict(text=TEXTS)), tmp_path / "a.parquet", compression="lz4")
    assert "column 'text' is compressed by LZ4" in smelt.refused(*arguments)
    pq.write_table(pa.table(dict(body=TEXTS, id=range(len(TEXTS)))), tmp_path / "a.parquet")
    assert "there is no column 'text': the columns are 'body', 'id'" in smelt.refused(*arguments)


NESTED = [
    [dict(role="user", content="hi"), dict(role="assistant", content="ho")],
    [dict(role="user", content=None), dict(role="assistant", content="x" * 40)],
    [dict(role="system", content="s"), dict(role="user", content="u"), dict(role="assistant", content="a")],
] * 50
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}|{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"


@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl"])
def test_chats(smelt, tmp_path, monkeypatch, kind):
    monkeypatch.setenv("SMELT_CACHE_DIR", str(tmp_path / "cache"))
    model = tmp_path / "model"
    model.mkdir()
    (model / "spec.json").write_text(json.dumps(SPEC))
    (model / "chat_template.jinja").write_text(TEMPLATE)
    path = tmp_path / f"chats.{kind}"
    table = pa.table(dict(messages=NESTED))
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=20, data_page_size=100)
    elif kind == "arrow":
        with pa.ipc.new_stream(path, table.schema) as out:
            out.write_table(table, max_chunksize=40)
    else:
        path.write_text("".join(json.dumps(dict(messages=m)) + "\n" for m in NESTED))
    smelt.good("train", model, "--data", path, "--messages-field", "messages", "--steps", 2, "--quiet")
    (made,) = (tmp_path / "cache" / "data").iterdir()
    ids, labels = (numpy.fromfile(made / f"{name}.i32", dtype=numpy.int32) for name in ("ids", "labels"))
    ends = numpy.fromfile(made / "ends.i64", dtype=numpy.int64)
    assert len(ends) == len(NESTED)
    first = bytes(ids[: ends[0]].astype(numpy.uint8)).decode()
    assert first == "[user]hi|[assistant]ho|"
    assert bytes(label for label in labels[: ends[0]] if label >= 0).decode() == "ho|"


@pytest.fixture
def encoded(smelt, tmp_path, monkeypatch):
    """The ids, labels and ends of the examples that a training run makes of rows."""
    monkeypatch.setenv("SMELT_CACHE_DIR", str(tmp_path / "cache"))

    def make(model, rows, *options):
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        smelt.good("train", model, "--data", path, "--steps", 1, "--batch", 1, "--quiet", *options)
        (made,) = (tmp_path / "cache" / "data").iterdir()
        names = {"ids.i32": numpy.int32, "labels.i32": numpy.int32, "types.i32": numpy.int32, "ends.i64": numpy.int64}
        return [numpy.fromfile(made / name, dtype=of) for name, of in names.items()]

    return make


def llama_with_tokenizer(saved):
    made = byte_tokenizer(["<s>", "</s>", "<|user|>", "<|assistant|>"])
    config = {**LLAMA, "vocab_size": made.get_vocab_size(), "max_position_embeddings": 256}
    directory, _ = saved(transformers.LlamaForCausalLM, transformers.LlamaConfig(**config, eos_token_id=1))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")
    fast.chat_template = (
        "{% for m in messages %}{% if m.role == 'assistant' %}<|assistant|>{% generation %}{{ m.content }}</s>"
        "{% endgeneration %}{% else %}<|user|>{{ m.content }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    fast.save_pretrained(directory)
    return directory, fast


def test_answers_count_as_in_transformers(saved, encoded):
    directory, tokenizer = llama_with_tokenizer(saved)
    chat = [
        dict(role="user", content="what is it?"),
        dict(role="assistant", content="an ä, twice: ää"),
        dict(role="user", content="and now"),
        dict(role="assistant", content=" nothing"),
    ]
    ids, labels, _, ends = encoded(directory, [dict(messages=chat)] * 30, "--messages-field", "messages")
    expected = tokenizer.apply_chat_template(
        chat, return_dict=True, return_assistant_tokens_mask=True, add_generation_prompt=False
    )
    assert list(ids[: ends[0]]) == list(expected["input_ids"])
    assert [int(label >= 0) for label in labels[: ends[0]]] == list(expected["assistant_masks"])


def test_completions_count_alone(saved, encoded):
    directory, tokenizer = llama_with_tokenizer(saved)
    row = dict(prompt="2 + 2 =", completion=" four")
    fields = ("--prompt-field", "prompt", "--completion-field", "completion")
    ids, labels, _, ends = encoded(directory, [row] * 30, *fields)
    prompt = tokenizer(row["prompt"])["input_ids"]
    answer = tokenizer(row["completion"], add_special_tokens=False)["input_ids"] + [1]
    assert list(ids[: ends[0]]) == prompt + answer
    assert list(labels[: ends[0]]) == [-100] * len(prompt) + answer


def write_arrow(path, table, kind, compression=None):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    make = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with make(path, table.schema, options=options) as out:
        out.write_table(table, max_chunksize=900)


@pytest.mark.parametrize("kind", ["stream", "file"])
@pytest.mark.parametrize("compression", [None, "zstd"])
@pytest.mark.parametrize("of", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_arrow(read, tmp_path, kind, compression, of):
    texts = TEXTS if not pa.types.is_dictionary(of) else [TEXTS[i % 9] for i in range(len(TEXTS))]
    column = pa.array(texts).dictionary_encode().cast(of) if pa.types.is_dictionary(of) else pa.array(texts, of)
    table = pa.table(dict(number=pa.array(numpy.arange(len(texts)) / 3), tags=[["a", "b"]] * len(texts), text=column))
    write_arrow(tmp_path / "a.arrow", table, kind, compression)
    assert read(tmp_path / "a.arrow") == texts


def test_what_is_not_read_of_arrow_is_named(smelt, tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    arguments = ("train", tmp_path / "spec.json", "--data", tmp_path / "a.arrow", "--steps", 1)
    write_arrow(tmp_path / "a.arrow", pa.table(dict(text=TEXTS)), "file", "lz4")
    assert "compressed by LZ4_FRAME" in smelt.refused(*arguments)
    write_arrow(tmp_path / "a.arrow", pa.table(dict(text=pa.array(TEXTS, pa.string_view()))), "file")
    assert "column 'text' has the type utf8_view" in smelt.refused(*arguments)


def test_arrow_files_that_were_cut_off_or_joined(smelt, tmp_path):
    """Cut between batches, a file would be shorter, and of joined streams the first alone would be read."""
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    batches = pa.table(dict(text=TEXTS)).to_batches(max_chunksize=500)
    ends = []
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as out, pa.ipc.new_file(out, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            ends.append(out.tell())
    (tmp_path / "cut.arrow").write_bytes((tmp_path / "a.arrow").read_bytes()[: ends[2]])
    write_arrow(tmp_path / "s.arrow", pa.table(dict(text=TEXTS)), "stream")
    (tmp_path / "joined.arrow").write_bytes((tmp_path / "s.arrow").read_bytes() * 2)
    for name, message in [("cut", "it was cut off"), ("joined", "behind the end of its stream")]:
        train = ["train", tmp_path / "spec.json", "--data", tmp_path / f"{name}.arrow", "--steps", 1, "--batch", 1]
        assert message in smelt.refused(*train)


def test_numbers_without_a_reader_are_no_texts(smelt, tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    pq.write_table(pa.table(dict(text=numpy.arange(9, dtype=numpy.float16))), tmp_path / "a.parquet")
    train = ["train", tmp_path / "spec.json", "--data", tmp_path / "a.parquet", "--steps", 1, "--batch", 1]
    assert "FLOAT16" in smelt.refused(*train)


def test_directories_that_datasets_writes(read, smelt, tmp_path):
    directory = tmp_path / "saved"
    directory.mkdir()
    names = ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]
    for name, part in zip(names, (TEXTS[:2000], TEXTS[2000:])):
        write_arrow(directory / name, pa.table(dict(text=part)), "stream")
    (directory / "state.json").write_text(json.dumps(dict(_data_files=[dict(filename=name) for name in names])))
    assert sorted(read(directory)) == sorted(TEXTS)
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    directory.rename(tmp_path / "both" / "train")
    message = smelt.refused("train", tmp_path / "spec.json", "--data", tmp_path / "both", "--steps", 1)
    assert "holds several data sets: name one of" in message and "both/train" in message


def test_csv(read, tmp_path):
    texts = ['plain', 'a "quoted", text', "two\nlines", " spaces "] * 100
    pyarrow.csv.write_csv(pa.table(dict(id=range(len(texts)), text=texts)), tmp_path / "a.csv")
    assert read(tmp_path / "a.csv") == texts


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_damaged_files(smelt, tmp_path, monkeypatch, kind):
    """Damage is an error with the file's name or goes unnoticed; the program neither crashes nor takes much memory."""
    monkeypatch.setenv("SMELT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    path = tmp_path / f"a.{kind}"
    table = pa.table(dict(text=TEXTS[:60], tags=[["a"]] * 60))
    pq.write_table(table, path, data_page_size=200) if kind == "parquet" else write_arrow(path, table, "file", "zstd")
    whole = path.read_bytes()
    generator = random.Random(1)
    for _ in range(15):
        data = bytearray(whole)
        if generator.random() < 0.3:
            data = data[: generator.randrange(len(data))]
        else:
            for _ in range(generator.randrange(1, 4)):
                data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        path.write_bytes(data)
        status, _, err = smelt("train", tmp_path / "spec.json", "--data", path, "--steps", 1, "--quiet", "--threads", 1)
        assert status in (0, 1), err
        assert status == 0 or f"a.{kind}" in err, err


def test_a_large_file_is_read_in_constant_memory(tmp_path, monkeypatch):
    """Ten times the rows take no more memory of the process's own."""
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    program = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], capture_output=True, text=True);"
        "print(done.returncode, done.stderr, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    peaks = []
    for blocks in (3, 30):
        monkeypatch.setenv("SMELT_CACHE_DIR", str(tmp_path / f"cache{blocks}"))
        with gzip.open(tmp_path / "a.jsonl.gz", "wt", compresslevel=1) as out:
            line = json.dumps(dict(text="lorem ipsum dolor sit amet " * 40)) + "\n"
            for _ in range(blocks):
                out.write(line * 2000)  # 2 MB of text, 8 MB of tokens
        # A row that is not valid at the end: the file is read, and training, which maps the tokens, does not begin.
        with gzip.open(tmp_path / "a.jsonl.gz", "at") as out:
            out.write("{}\n")
        command = [SMELT, "train", tmp_path / "spec.json", "--data", tmp_path / "a.jsonl.gz", "--steps", "1"]
        done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)
        assert f"row {blocks * 2000 + 1}: there is no column 'text'" in done.stdout
        peaks.append(int(done.stdout.split()[-1]))
    assert peaks[1] < peaks[0] + 16 * 1024, peaks
