"""What the tests of the command line against transformers share: tiny random models, and what `smelt` makes of them."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

SMELT = os.environ.get("SMELT", str(pathlib.Path(__file__).resolve().parents[3] / "build" / "smelt"))
if all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
else:
    print("tests/python/commands: skipped, as torch or transformers is not installed", file=sys.stderr)
    collect_ignore_glob = ["test_*.py"]


LLAMA = dict(
    vocab_size=96,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=1,
    num_attention_heads=4,
    max_position_embeddings=64,
)


def edit_json(path, **fields):
    """Sets fields of a file of JSON, which may be missing."""
    old = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**old, **fields}))


class Smelt:
    def __call__(self, *arguments):
        """(status, standard output, standard error)"""
        done = subprocess.run([SMELT, *map(str, arguments)], capture_output=True, text=True)
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    def good(self, *arguments):
        status, out, err = self(*arguments)
        assert status == 0, err
        return out

    def generated(self, directory, ids, *options):
        line = self.good("generate", directory, "--ids", " ".join(map(str, ids)), "--json", *options)
        return json.loads(line)["new_ids"]

    def refused(self, *arguments):
        """The message on standard error of a command that prints nothing else."""
        status, out, err = self(*arguments)
        assert status == 1 and out == "", err
        return err


@pytest.fixture
def smelt():
    return Smelt()


@pytest.fixture
def saved(tmp_path):
    """Saves a model of this class and config, with parameters that differ, and returns its directory and itself."""

    def save(model_class, config):
        torch.manual_seed(0)
        model = model_class(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.15)
        directory = tmp_path / "model"
        model.save_pretrained(directory)
        return directory, model

    return save


@pytest.fixture
def serving():
    """Starts a server of a directory, under the name "tiny", and returns its URL."""
    servers = []

    def start(directory, *options):
        command = [SMELT, "serve", directory, "--port", "0", "--name", "tiny", *options]
        servers.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        return servers[-1].stdout.readline().split()[-1]

    yield start
    for server in servers:
        server.terminate()
        server.wait()


@pytest.fixture
def served(saved, serving):
    """Starts a server of a random model with a tokenizer and a chat template, and returns its URL and the model."""
    from test_tokenizer_files import byte_tokenizer

    made = byte_tokenizer(["<s>", "</s>"])
    config = {**LLAMA, "vocab_size": made.get_vocab_size(), "max_position_embeddings": 256}
    directory, model = saved(transformers.LlamaForCausalLM, transformers.LlamaConfig(**config))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")
    fast.chat_template = "{% for m in messages %}<s>{{ m.content }}{% endfor %}</s>"
    fast.save_pretrained(directory)
    return serving(directory), model
