"""Smelt compiles a description of a transformer into one plan, and trains and runs it.

    import smelt
    plan = smelt.compile("models/gpt2", mode="infer", max={"B": 8, "T": 256})
    session = plan.session()
    logits = session.run("logits", input_ids=ids)["logits"]
"""

from .library_settings import suitable_settings

with suitable_settings():  # before all else that imports it
    from ._native import DeviceTensor, Tensor, version as __version__
from .arrays import as_ids
from .batch import Batch, BatchProgress, Beam, Token
from .errors import Error
from .images import read_images
from .optimizers import (
    LAMB,
    SGD,
    Adafactor,
    Adagrad,
    Adam,
    AdamW,
    AdamW8bit,
    Lion,
    Muon,
    NorMuon,
    ScheduleFreeAdamW,
)
from .plan import Plan, compile, load
from .presets import get_config
from .reports import doctor
from .session import Session, StepResult

__all__ = [
    "LAMB",
    "SGD",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "AdamW8bit",
    "Batch",
    "BatchProgress",
    "Beam",
    "DeviceTensor",
    "Error",
    "Lion",
    "Muon",
    "NorMuon",
    "Plan",
    "ScheduleFreeAdamW",
    "Session",
    "StepResult",
    "Tensor",
    "Token",
    "__version__",
    "as_ids",
    "compile",
    "doctor",
    "get_config",
    "load",
    "read_images",
    "replace_layers",
]


_TRAINER = (
    "EarlyStoppingCallback",
    "EvalPrediction",
    "MLflowCallback",
    "Seq2SeqTrainer",
    "Seq2SeqTrainingArguments",
    "Trainer",
    "TrainerCallback",
    "TrainerControl",
    "TrainerState",
    "TrainingArguments",
    "WandbCallback",
)
"""Names of smelt.trainer, which is imported with PyTorch when one of them is used first."""


def __getattr__(name):
    if name not in _TRAINER:
        raise AttributeError(f"module 'smelt' has no attribute '{name}'")
    from . import trainer

    return getattr(trainer, name)


def replace_layers(model, **options):
    """smelt.torch.replace_layers: compiles the repeated layers of a module of PyTorch in place."""
    from .torch import replace_layers as replace

    return replace(model, **options)
