"""What the tests of smelt.torch share. `--all-architectures` tries all of them, which takes some minutes."""

import importlib.util
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
if all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
    import torch
    import transformers
    from cached_annotations import cache_annotations

    cache_annotations()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
else:
    print("tests/python/torch: skipped, as torch or transformers is not installed", file=sys.stderr)
    collect_ignore_glob = ["test_*.py"]

QUICK = ("bert", "gpt2", "llama", "t5", "vit", "mixtral", "wav2vec2", "bert-answers")


def pytest_addoption(parser):
    parser.addoption("--all-architectures", action="store_true", help="not only the quick ones")


def pytest_generate_tests(metafunc):
    if "architecture" not in metafunc.fixturenames:
        return
    from architectures import ARCHITECTURES
    from more_architectures import ARCHITECTURES as MORE

    names = {**ARCHITECTURES, **MORE} if metafunc.config.getoption("--all-architectures") else QUICK
    metafunc.parametrize("architecture", names)


@pytest.fixture
def chosen(architecture):
    from architectures import ARCHITECTURES
    from more_architectures import ARCHITECTURES as MORE

    return {**ARCHITECTURES, **MORE}[architecture]


def relative(found, expected):
    """The distance of two tensors over the length of the second."""
    return float((found.double() - expected.double()).norm() / expected.double().norm().clamp_min(1e-30))
