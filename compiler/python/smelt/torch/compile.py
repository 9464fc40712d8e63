"""compile_module: from a module and a sample of its inputs to a plan."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Any, Mapping, Optional, Union

import torch

from .. import plan as plans
from ..errors import Error
from ..optimizers import AdamW, Optimizer
from ..progress import begin_step, compilation
from ..text import said_of
from .arguments import check_names, check_sample, check_shapes, checked_bounds
from .arrays import device_of
from .capture import capture
from .doubles import warn_of_doubles
from .dynamic_dims import asks_for_empty
from .process import checked_module
from .program import Program, build_program
from .session import ModulePlan

Shapes = Mapping[str, Any]
Path = Union[str, "os.PathLike[str]"]


def import_module(
    module: torch.nn.Module,
    sample: Any,
    dynamic_shapes: Optional[Shapes],
    bounds: Optional[Mapping[str, int]],
    training: bool,
    loss: Optional[str],
    **options: Any,
) -> Program:
    """The module's text; operations without a row are one error that names all of them."""
    check_sample(sample)
    check_shapes(dynamic_shapes)
    bounds = checked_bounds(bounds, dynamic_shapes)
    program = None
    if asks_for_empty(dynamic_shapes, bounds):
        program = _with_empty_sizes(module, sample, dynamic_shapes, bounds, training, loss=loss, **options)
    if program is None:
        captured = capture(module, sample, dynamic_shapes, bounds, training)
        begin_step("import")
        program = build_program(module, captured, bounds, loss=loss, **options)
    if program.missing:
        raise Error(
            f"{type(module).__name__} uses what Smelt cannot do:\n  " + "\n  ".join(str(m) for m in program.missing)
        )
    if not program.outputs:
        raise Error(f"{type(module).__name__} returns no tensor, so that there is nothing to compile")
    warn_of_doubles(type(module).__name__, program.doubles)
    return program


def _with_empty_sizes(
    module: torch.nn.Module, sample: Any, shapes: Any, bounds: Any, training: bool, **options: Any
) -> Optional[Program]:
    """None where the module cannot be taken with sizes of 0."""
    try:
        captured = capture(module, sample, shapes, bounds, training, may_be_empty=True)
        program = build_program(module, captured, bounds, **options)
    except Error:
        return None
    return None if program.missing else program


def compile_module(
    module: torch.nn.Module,
    sample: Any,
    *,
    dynamic_shapes: Optional[Shapes] = None,
    max: Optional[Mapping[str, int]] = None,
    mode: str = "infer",
    loss: str = "loss",
    optimizer: Optional[Optimizer] = None,
    time_limit: Optional[float] = None,
    **options: Any,
) -> ModulePlan:
    """Compiles a module's forward, or training steps of it.

    sample: inputs that forward takes: a mapping by name, a tuple, or a tensor.
    dynamic_shapes: the dims that may change, by input, such as {"input_ids": {0: "B", 1: "T"}}; max: their bounds.
    In place of a name, torch.export.Dim("T", min=400) gives the least size, too; with min=0 it may be empty.
    mode: "infer": the plan's entry is @forward, with the outputs of the module in evaluation. "train": the module is
    taken as it is (call train() for its dropout) and its output `loss` is trained by `optimizer`.
    time_limit: seconds for all of it, tracing included, after which it ends with a smelt.Error.
    The other options are those of smelt.compile: precision="bf16", target="native", ... Of a module on a GPU the target
    is "cuda" where none is given.
    """
    if mode not in ("infer", "train"):
        raise Error(f"mode '{mode}': expected 'infer' or 'train'")
    training = mode == "train"
    rule = (optimizer or AdamW()) if training else None
    if optimizer is not None and not training:
        raise Error("an optimizer is for mode='train'")
    if rule is not None and not isinstance(rule, Optimizer):
        raise Error(f"optimizer: expected one of Smelt's, such as smelt.AdamW(weight_decay=0.01), given {rule!r}")
    decay_all = rule is None or rule.decay == "all"
    module = checked_module(module)
    with compilation(f"compiling {type(module).__name__}", time_limit):
        program = import_module(
            module, sample, dynamic_shapes, max, training, loss if training else None, decay_all=decay_all
        )
        check_names(program.inputs, "lr" if training else "out")
        if device_of(module.parameters()).type == "cuda":
            options = {"target": "cuda", **options}
        plan = compile_text(program.text, mode=mode, **(rule.options() if rule else {}), **options)
    return ModulePlan(plan, module, program, True, rule.lr if rule else None)


def compile_text(text: str, **options: Any) -> plans.Plan:
    """smelt.compile takes a file."""
    with tempfile.TemporaryDirectory(prefix="smelt-") as directory:
        path = pathlib.Path(directory, "model.ir")
        path.write_text(text)
        try:
            return plans.compile(path, **options)
        except Error as error:
            raise said_of(error, text) from error


def export(
    module: torch.nn.Module,
    sample: Any,
    directory: Path,
    *,
    dynamic_shapes: Optional[Shapes] = None,
    max: Optional[Mapping[str, int]] = None,
    loss: Optional[str] = None,
) -> pathlib.Path:
    """Writes a directory that every command of smelt takes: the graph (model.ir) and the weights, constant tables
    among them (model.safetensors). Integers are i32 there, as in the data of the commands. With `loss` the graph is
    @loss, which smelt train trains; else it is @forward."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    module = checked_module(module)
    program = import_module(module, sample, dynamic_shapes, max, loss is not None, loss, wide_ids=False)
    if program.states:
        raise Error(
            f"export: forward changes {', '.join(program.states)}, which a directory of weights does not keep: call eval() "
            "on what does (a batch norm), or compile_module the module, whose sessions keep them"
        )
    directory = pathlib.Path(directory)
    weights = {name: tensor.detach().cpu().float().contiguous().clone() for name, tensor in program.parameters.items()}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "model.ir").write_text(program.text)
        save_file(weights, directory / "model.safetensors")
    except (OSError, SafetensorError) as problem:
        raise Error(f"export to {directory}: {problem}; expected a directory that can be written", "io") from problem
    return directory
