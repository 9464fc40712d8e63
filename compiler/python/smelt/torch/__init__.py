"""Modules of PyTorch as plans.

    shapes = {"input_ids": {0: "B", 1: "T"}}
    plan = smelt.torch.compile_module(model, sample, dynamic_shapes=shapes, max={"B": 8, "T": 512})
    logits = plan.session().run(input_ids=ids)["logits"]
"""

from . import exporter
from .compile import compile_module, export
from .coverage import Coverage, coverage
from .replace import replace_layers
from .session import ModulePlan, ModuleSession

__all__ = [
    "Coverage",
    "ModulePlan",
    "ModuleSession",
    "compile_module",
    "coverage",
    "export",
    "exporter",
    "replace_layers",
]
