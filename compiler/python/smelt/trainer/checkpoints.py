"""Checkpoint directories of a training, OUTPUT_DIR/checkpoint-STEP, with a model that transformers can load."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
from typing import Any, Optional, Union

import torch

from ..errors import Error
from .callbacks import TrainerState
from .random_states import random_states, set_random_states

_STATE = "trainer_state.json"
_OPTIMIZER = "smelt_state.safetensors"
_RANDOM = "smelt_random.json"


def path_of(output_dir: Union[str, pathlib.Path], step: int) -> pathlib.Path:
    return pathlib.Path(output_dir) / f"checkpoint-{step}"


def newest(output_dir: Union[str, pathlib.Path]) -> Optional[pathlib.Path]:
    """The complete checkpoint of the most updates; None if there is none."""
    found = [path for path in _all(output_dir) if (path / _STATE).exists()]
    return found[-1] if found else None


def _all(output_dir: Union[str, pathlib.Path]) -> list[pathlib.Path]:
    paths = [p for p in pathlib.Path(output_dir).glob("checkpoint-*") if re.fullmatch(r"checkpoint-\d+", p.name)]
    return sorted(paths, key=lambda path: int(path.name.split("-")[1]))


def _written_at(path: pathlib.Path) -> tuple[int, int]:
    """The time at which a checkpoint was complete, and its updates; what is not complete comes first."""
    state = path / _STATE
    return state.stat().st_mtime_ns if state.exists() else 0, int(path.name.split("-")[1])


def save_model(model: torch.nn.Module, directory: Union[str, pathlib.Path], processing_class: Any = None) -> None:
    """With save_pretrained where the model has it; else model.safetensors with its state_dict."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    if hasattr(model, "save_pretrained"):
        model.save_pretrained(directory)
    else:
        from safetensors.torch import save_model as save

        save(model, str(directory / "model.safetensors"))
    if hasattr(processing_class, "save_pretrained"):
        processing_class.save_pretrained(directory)


def save(directory: pathlib.Path, plan: Any, state: TrainerState, processing_class: Any = None) -> None:
    """trainer_state.json is written last: a directory with it is complete."""
    from safetensors.torch import save_file

    plan.copy_weights()
    save_model(plan.model, directory, processing_class)
    values, updates = plan.state()
    save_file(
        {name: value.contiguous() for name, value in values.items()},
        directory / _OPTIMIZER,
        metadata={"updates": str(updates)},
    )
    (directory / _RANDOM).write_text(json.dumps(random_states()))
    (directory / _STATE).write_text(state.to_json())


def restore(directory: Union[str, pathlib.Path], plan: Any) -> TrainerState:
    from safetensors import safe_open

    directory = pathlib.Path(directory)
    if not (directory / _STATE).exists() or not (directory / _OPTIMIZER).exists():
        raise Error(
            f"resume_from_checkpoint: {directory} is no checkpoint of smelt.Trainer; expected {_STATE} and {_OPTIMIZER}"
        )
    with safe_open(directory / _OPTIMIZER, "pt") as file:
        plan.load_state({name: file.get_tensor(name) for name in file.keys()}, int(file.metadata()["updates"]))
    return TrainerState(**json.loads((directory / _STATE).read_text()))


def restore_random(directory: Union[str, pathlib.Path]) -> None:
    """Restores the random numbers of Python, NumPy and PyTorch; checkpoints of older versions have none."""
    path = pathlib.Path(directory) / _RANDOM
    if path.exists():
        set_random_states(json.loads(path.read_text()))


def prune(output_dir: Union[str, pathlib.Path], keep: Optional[int], best: Optional[str]) -> None:
    """Removes all but the `keep` checkpoints that were written last, and the best one. Those of an older run may have
    more updates."""
    paths = sorted(_all(output_dir), key=_written_at)
    for path in paths[: max(0, len(paths) - keep)] if keep else []:
        if best is None or path.resolve() != pathlib.Path(best).resolve():
            shutil.rmtree(path)
