"""The classes of models that the installed transformers has, by folder."""

from __future__ import annotations

import importlib
import inspect
import pathlib
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Iterable, Optional

import torch
import transformers

VERSION = transformers.__version__
MODELS = pathlib.Path(transformers.__file__).parent / "models"

FIRST = (
    "bert", "gpt2", "llama", "t5", "vit", "bart", "roberta", "distilbert", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3",
    "mixtral", "whisper", "wav2vec2", "clip", "opt", "gpt_neox", "bloom", "falcon", "phi", "phi3", "albert", "electra", "deberta_v2",
    "xlm_roberta", "modernbert", "marian", "mbart", "swin", "deit", "dinov2", "convnext", "siglip", "detr", "segformer", "qwen2_vl",
    "llava", "deepseek_v3", "mamba", "resnet", "sam",
)  # fmt: skip
"""Folders that are examined before all others."""


@dataclass
class Folder:
    name: str
    classes: list[type] = field(default_factory=list)
    fault: str = ""
    """Why a modelling file cannot be imported."""


def folders() -> list[str]:
    """The names of the folders with a modelling file: the well-known ones first, then by the alphabet."""
    names = sorted({path.parent.name for path in MODELS.glob("*/modeling_*.py")})
    return [name for name in FIRST if name in names] + [name for name in names if name not in FIRST]


def folder(name: str) -> Folder:
    """Imports the folder's modelling files."""
    found, made = Folder(name), []
    for path in sorted((MODELS / name).glob("modeling_*.py")):
        try:
            module = importlib.import_module(f"transformers.models.{name}.{path.stem}")
        except Exception as problem:  # a package that is not installed, for instance
            found.fault = f"{path.stem}: {type(problem).__name__}: {problem}"
            continue
        made += [each for each in _public(module) if is_made(each, module.__name__)]
    found.classes = sorted([each for each in made if is_examined(each)] or made, key=_order)
    return found


def _public(module: object) -> list[type]:
    names = getattr(module, "__all__", [])
    return [value for name in names if inspect.isclass(value := getattr(module, name, None))]


def is_made(candidate: type, module: str) -> bool:
    """Whether it is a model that is defined in the module, has a forward, and can be constructed from a configuration."""
    is_model = issubclass(candidate, transformers.PreTrainedModel) and candidate.__module__ == module
    is_whole = is_model and candidate.forward is not torch.nn.Module.forward and candidate.config_class is not None
    return is_whole and not candidate.__name__.endswith("PreTrainedModel")


def is_examined(candidate: type) -> bool:
    """Whether its name is that of a model; a folder without such names has backbones or encoders alone."""
    return candidate.__name__.endswith("Model") or "For" in candidate.__name__


def _order(candidate: type) -> tuple[int, str]:
    """Heads with a loss before bodies, as they hold the bodies."""
    heads = (
        "ForCausalLM",
        "LMHeadModel",
        "ForConditionalGeneration",
        "ForMaskedLM",
        "ForImageClassification",
        "ForCTC",
    )
    rank = [i for i, head in enumerate(heads) if candidate.__name__.endswith(head)]
    return (rank[0] if rank else len(heads) + candidate.__name__.endswith("Model"), candidate.__name__)


def in_rounds(found: Iterable[Folder]) -> list[tuple[str, type]]:
    """One class of every folder, then a second one of every folder, and so on: a run that ends early has seen most
    folders."""
    rows: list[list[Optional[tuple[str, type]]]] = [[(f.name, each) for each in f.classes] for f in found]
    return [pair for row in zip_longest(*rows) for pair in row if pair is not None]
