"""Callbacks of a training, with the events of transformers' TrainerCallback."""

from __future__ import annotations

import importlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Mapping, Optional, Sequence

from ..errors import Error


@dataclass
class TrainerState:
    """How far the training is. Its fields have the names of transformers.TrainerState."""

    epoch: float = 0.0
    global_step: int = 0
    max_steps: int = 0
    num_train_epochs: int = 0
    log_history: list[dict[str, float]] = field(default_factory=list)
    best_metric: Optional[float] = None
    best_global_step: Optional[int] = None
    best_model_checkpoint: Optional[str] = None
    stateful_callbacks: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_local_process_zero: bool = True
    is_world_process_zero: bool = True

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"


@dataclass
class TrainerControl:
    """What a callback may ask for: the loop does it after the event and resets the field."""

    should_training_stop: bool = False
    should_epoch_stop: bool = False
    should_save: bool = False
    should_evaluate: bool = False
    should_log: bool = False


class TrainerCallback:
    """Base of callbacks. Every event gets the arguments, the state and the control, and by name `model`, and where they
    are known `logs` or `metrics`. What a method returns in place of None becomes the control."""

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> Any: ...
    def on_train_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> Any: ...
    def on_epoch_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> Any: ...
    def on_epoch_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> Any: ...
    def on_step_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> Any: ...
    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> Any: ...
    def on_evaluate(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> Any: ...
    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> Any: ...
    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> Any: ...


class Callbacks:
    """Callbacks that are called in order. Those of transformers are accepted, too."""

    def __init__(self, callbacks: Sequence[Any]) -> None:
        self.all = [callback() if isinstance(callback, type) else callback for callback in callbacks]

    def call(
        self, event: str, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        for callback in self.all:
            changed = getattr(callback, event, lambda *_, **__: None)(args, state, control, **kwargs)
            control = control if changed is None else changed
        return control


    def states(self) -> dict[str, dict[str, Any]]:
        """What the callbacks with a method `state`, as ExportableState of transformers has it, return from it."""
        return {type(each).__name__: each.state() for each in self.all if _has_state(each)}

    def load(self, states: Mapping[str, Mapping[str, Any]]) -> None:
        """Sets the attributes of the states to what states() has returned; callbacks keep their own arguments."""
        for callback in self.all:
            saved = states.get(type(callback).__name__, {}) if _has_state(callback) else {}
            for name, value in saved.get("attributes", {}).items():
                setattr(callback, name, value)


def _has_state(callback: Any) -> bool:
    """A method: an attribute of that name may be the training's state."""
    return callable(getattr(type(callback), "state", None))


class EarlyStoppingCallback(TrainerCallback):
    """Ends the training after `early_stopping_patience` evaluations whose metric_for_best_model is not better than the
    best one by more than `early_stopping_threshold`."""

    def __init__(self, early_stopping_patience: int = 1, early_stopping_threshold: float = 0.0) -> None:
        self.early_stopping_patience = early_stopping_patience
        self.early_stopping_threshold = early_stopping_threshold
        self.early_stopping_patience_counter = 0

    def state(self) -> dict[str, Any]:
        """For checkpoints."""
        return {"attributes": {"early_stopping_patience_counter": self.early_stopping_patience_counter}}

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if args.metric_for_best_model is None or args.eval_strategy == "no":
            raise Error("EarlyStoppingCallback: expected metric_for_best_model and an eval_strategy in the arguments")

    def on_evaluate(
        self, args: Any, state: TrainerState, control: TrainerControl, metrics: Any = None, **kwargs: Any
    ) -> None:
        value, best = metric_of(metrics, args.metric_for_best_model), state.best_metric
        margin = 0 if best is None else (value - best if higher_is_better(args) else best - value)
        improved = best is None or margin > self.early_stopping_threshold
        self.early_stopping_patience_counter = 0 if improved else self.early_stopping_patience_counter + 1
        if self.early_stopping_patience_counter >= self.early_stopping_patience:
            control.should_training_stop = True


def metric_of(metrics: dict[str, float], name: str) -> float:
    """The metric of that name, with or without "eval_" in front."""
    key = name if name.startswith("eval_") else f"eval_{name}"
    if key not in metrics:
        raise Error(f"metric_for_best_model: the evaluation has no {key}; it has {', '.join(sorted(metrics))}")
    return metrics[key]


def higher_is_better(args: Any) -> bool:
    if args.greater_is_better is not None:
        return args.greater_is_better
    return not (args.metric_for_best_model or "loss").endswith("loss")


class _Writer(TrainerCallback):
    """Sends the logs to a service whose package is imported at the begin of the training."""

    package = ""

    def __init__(self) -> None:
        self._module: Any = None

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        try:
            self._module = importlib.import_module(self.package)
        except ImportError as error:
            raise Error(
                f"{type(self).__name__} needs the package {self.package}: pip install {self.package}"
            ) from error
        self._begin(args)

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, logs: Any = None, **kwargs: Any) -> None:
        if self._module is not None:
            self._write(with_groups(logs or {}), state.global_step)

    def on_train_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self._end()

    def _begin(self, args: Any) -> None: ...
    def _write(self, numbers: dict[str, float], step: int) -> None: ...
    def _end(self) -> None: ...


def with_groups(logs: dict[str, Any]) -> dict[str, float]:
    """The numbers of a log as "train/loss" and "eval/loss"."""
    numbers = {name: value for name, value in logs.items() if isinstance(value, (int, float))}
    return {f"eval/{n[5:]}" if n.startswith("eval_") else f"train/{n}": value for n, value in numbers.items()}


class WandbCallback(_Writer):
    """Logs to Weights & Biases. A run that has been started already is used, and else ended with the training."""

    package = "wandb"

    def _begin(self, args: Any) -> None:
        self._own = self._module.run is None
        if self._own:
            self._module.init(name=args.run_name, config=args.to_dict())

    def _write(self, numbers: dict[str, float], step: int) -> None:
        self._module.log({**numbers, "train/global_step": step})

    def _end(self) -> None:
        if self._own:
            self._module.finish()


class MLflowCallback(_Writer):
    """Logs to MLflow. A run that is active already is used, and else ended with the training."""

    package = "mlflow"

    def _begin(self, args: Any) -> None:
        self._own = self._module.active_run() is None
        if self._own:
            self._module.start_run(run_name=args.run_name)
        self._module.log_params(args.to_dict())

    def _write(self, numbers: dict[str, float], step: int) -> None:
        self._module.log_metrics(numbers, step=step)

    def _end(self) -> None:
        if self._own:
            self._module.end_run()


WRITERS = {"wandb": WandbCallback, "mlflow": MLflowCallback}
