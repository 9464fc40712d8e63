"""The training loop."""

from __future__ import annotations

import math
import pathlib
import time
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

import numpy
import torch

from ..errors import Error
from . import checkpoints
from .arguments import TrainingArguments, text_of
from .batches import Collator, Rows, collated, columns_of, default_collator, shuffled
from .callbacks import WRITERS, Callbacks, TrainerControl, TrainerState, higher_is_better, metric_of
from .plans import EvaluationPlan, TrainingPlan
from .random_states import kept_random_states, seed_all
from .schedules import schedule
from .sizes import Lengths


class TrainOutput(NamedTuple):
    global_step: int
    training_loss: float
    metrics: dict[str, float]


class PredictionOutput(NamedTuple):
    predictions: Any
    label_ids: Any
    metrics: dict[str, float]


class EvalPrediction(NamedTuple):
    """What compute_metrics is called with."""

    predictions: Any
    label_ids: Any


class Trainer:
    """Trains a module of PyTorch with compiled updates.

    model: a module whose forward returns `loss` where it is given labels, such as a model of transformers. Its weights
    are those of the training after train() and at every evaluation and checkpoint.
    args: TrainingArguments. The batches, their order, the learning rates and the losses are those of transformers'
    Trainer with the same arguments, on one device.
    data_collator: makes a batch of rows; by default one that stacks them, or pads them by `processing_class`.
    train_dataset, eval_dataset: with a length and rows by number; rows are mappings of columns.
    compute_metrics: a function of EvalPrediction that returns numbers by name.
    callbacks: TrainerCallbacks; those of transformers are called, too.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        args: Optional[TrainingArguments] = None,
        data_collator: Optional[Collator] = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        processing_class: Any = None,
        compute_metrics: Optional[Callable[[EvalPrediction], Mapping[str, float]]] = None,
        callbacks: Optional[Sequence[Any]] = None,
        preprocess_logits_for_metrics: Optional[Callable[[Any, Any], Any]] = None,
        **unsupported: Any,
    ) -> None:
        refused = sorted(name for name, value in unsupported.items() if value not in (None, (None, None)))
        if refused:
            raise Error(f"Trainer: {', '.join(refused)} is not supported")
        if not isinstance(model, torch.nn.Module):
            raise Error(f"Trainer: model is a {type(model).__name__}, expected a torch.nn.Module")
        self.model, self.args = model, TrainingArguments() if args is None else args
        if not isinstance(self.args, TrainingArguments):
            raise Error(
                f"Trainer: args is a {type(args).__name__} of {type(args).__module__}, expected smelt.TrainingArguments"
            )
        self.processing_class = processing_class
        self.data_collator = data_collator or self._default_collator()
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.compute_metrics = compute_metrics
        self.preprocess_logits_for_metrics = preprocess_logits_for_metrics
        writers = [WRITERS[name]() for name in self.args.writers() if name != "none"]
        self._callbacks = Callbacks([*writers, *(callbacks or ())])
        self.state, self.control = TrainerState(), TrainerControl()
        self._plan: Optional[TrainingPlan] = None
        self._evaluations: dict[tuple[str, ...], EvaluationPlan] = {}

    def add_callback(self, callback: Any) -> None:
        self._callbacks = Callbacks([*self._callbacks.all, callback])

    # ---- training

    def train(self, resume_from_checkpoint: Union[None, bool, str, pathlib.Path] = None) -> TrainOutput:
        """Trains up to max_steps or num_train_epochs. `resume_from_checkpoint`: a checkpoint directory, or True for the
        newest one in output_dir."""
        args, begun = self.args, time.monotonic()
        if self.train_dataset is None:
            raise Error("Trainer: there is no train_dataset")
        rows = self._rows(self.train_dataset, "train_dataset")
        epochs = self._begin(rows)
        self._resume(args.resume_from_checkpoint if resume_from_checkpoint is None else resume_from_checkpoint)
        first, self._losses, total = self.state.global_step, [], 0.0
        self._event("on_train_begin")
        for epoch in range(first // self._per_epoch, epochs):
            total += self._train_epoch(rows, epoch)
            if self.control.should_training_stop or self.state.global_step >= self.state.max_steps:
                break
        self._plan.copy_weights()
        self._load_best()
        steps = self.state.global_step - first
        metrics = self._speed("train", begun, steps * args.train_batch_size * args.gradient_accumulation_steps, steps)
        metrics = {**metrics, "train_loss": total / max(1, steps), "epoch": self.state.epoch}
        self.log(dict(metrics))
        self._event("on_train_end")
        return TrainOutput(self.state.global_step, metrics["train_loss"], metrics)

    def _begin(self, rows: Rows) -> int:
        """Compiles the update, sets the number of updates and their rates, and returns the number of epochs."""
        args = self.args
        groups = rows.batches(range(len(rows)), args.train_batch_size, args.dataloader_drop_last)
        if not groups:
            raise Error("train_dataset has fewer rows than a batch, and dataloader_drop_last leaves them out")
        self._per_epoch = math.ceil(len(groups) / args.gradient_accumulation_steps)
        by_epochs = math.ceil(args.num_train_epochs * self._per_epoch)
        steps = args.max_steps if args.max_steps > 0 else by_epochs
        epochs = math.ceil(steps / self._per_epoch)
        self.state = TrainerState(max_steps=steps, num_train_epochs=epochs)
        self.control = TrainerControl()
        self._factor = schedule(
            text_of(args.lr_scheduler_type),
            args.learning_rate,
            args.get_warmup_steps(steps),
            steps,
            args.lr_scheduler_kwargs,
        )
        seed_all(args.seed)
        order = self._order(len(rows), 0)[: args.train_batch_size]
        with kept_random_states():  # a collator that draws, as for masks, draws the same afterwards
            batch = next(collated(rows, [order], self.data_collator))
        self._plan = TrainingPlan(self.model, batch, Lengths(rows), self.data_collator, args)
        return epochs

    def _order(self, count: int, epoch: int) -> list[int]:
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        return shuffled(count, seed, epoch)

    def _train_epoch(self, rows: Rows, epoch: int) -> float:
        """Returns the sum of the losses of its updates."""
        args, total = self.args, 0.0
        groups = rows.batches(self._order(len(rows), epoch), args.train_batch_size, args.dataloader_drop_last)
        done = (self.state.global_step - epoch * self._per_epoch) * args.gradient_accumulation_steps
        batches = collated(rows, groups[done:], self.data_collator)
        self._event("on_epoch_begin")
        for left in range(len(groups) - done, 0, -args.gradient_accumulation_steps):
            micro_steps = [next(batches) for _ in range(min(left, args.gradient_accumulation_steps))]
            total += self._update(micro_steps, epoch)
            self._act()
            if self._ends() or self.control.should_epoch_stop:
                break
        self.control.should_epoch_stop = False
        self._event("on_epoch_end")
        self._ask_for("epoch")
        self._act()
        return total

    def _ends(self) -> bool:
        return self.control.should_training_stop or self.state.global_step >= self.state.max_steps

    def _update(self, batches: list[Mapping[str, torch.Tensor]], epoch: int) -> float:
        self._event("on_step_begin")
        self._rate = self.args.learning_rate * self._factor(self.state.global_step)
        loss, self._norm = self._plan.update(batches, self._rate)
        self.state.global_step += 1
        self.state.epoch = self.state.global_step / self._per_epoch
        self._losses.append(loss)
        self._event("on_step_end")
        self._ask_for("steps")
        return loss

    # ---- what the arguments ask for after a step or an epoch

    def _ask_for(self, when: str) -> None:
        args, control, step = self.args, self.control, self.state.global_step
        due = {
            "log": (args.logging_strategy, args.logging_steps),
            "save": (args.save_strategy, args.save_steps),
            "evaluate": (args.eval_strategy, args.eval_steps or args.logging_steps),
        }
        for what, (strategy, every) in due.items():
            strategy = text_of(strategy)
            last = what != "log" and step >= self.state.max_steps
            if strategy == when and (when == "epoch" or step % self._interval(every) == 0 or last):
                setattr(control, f"should_{what}", True)
        if when == "steps" and args.logging_first_step and step == 1:
            control.should_log = True

    def _interval(self, every: float) -> int:
        """A number below 1 is a share of all steps."""
        return max(1, math.ceil(every * self.state.max_steps) if every < 1 else int(every))

    def _act(self) -> None:
        control = self.control
        if control.should_log and self._losses:
            logs = {"loss": sum(self._losses) / len(self._losses), "learning_rate": self._rate}
            self._losses = []
            self.log(logs if self._norm is None else {**logs, "grad_norm": self._norm})
        if control.should_evaluate:
            self._compare(self.evaluate())
        if control.should_save:
            self._save()
        control.should_log = control.should_evaluate = control.should_save = False

    def log(self, logs: dict[str, float]) -> None:
        """Adds a log to state.log_history and gives it to the callbacks."""
        logs = {**logs, "epoch": self.state.epoch}
        self.state.log_history.append({**logs, "step": self.state.global_step})
        self._event("on_log", logs=logs)

    def _event(self, name: str, **more: Any) -> None:
        self.control = self._callbacks.call(
            name, self.args, self.state, self.control, model=self.model, processing_class=self.processing_class, **more
        )

    # ---- checkpoints

    def _save(self) -> None:
        directory = checkpoints.path_of(self.args.output_dir, self.state.global_step)
        if self.state.best_global_step == self.state.global_step:
            self.state.best_model_checkpoint = str(directory)
        self.state.stateful_callbacks = self._callbacks.states()
        checkpoints.save(directory, self._plan, self.state, self.processing_class)
        checkpoints.prune(self.args.output_dir, self.args.save_total_limit, self.state.best_model_checkpoint)
        self._event("on_save")

    def _resume(self, given: Union[None, bool, str, pathlib.Path]) -> None:
        if given in (None, False):
            return
        path = checkpoints.newest(self.args.output_dir) if given is True else given
        if path is None:
            raise Error(f"resume_from_checkpoint: there is no checkpoint in {self.args.output_dir}")
        before = checkpoints.restore(path, self._plan)
        before.max_steps, before.num_train_epochs = self.state.max_steps, self.state.num_train_epochs
        self.state = before
        self._callbacks.load(before.stateful_callbacks)
        checkpoints.restore_random(path)

    def _compare(self, metrics: dict[str, float]) -> None:
        """Remembers the best evaluation, after the callbacks have seen the one before."""
        name = self.args.metric_for_best_model or ("loss" if self.args.load_best_model_at_end else None)
        if name is None:
            return
        value, best = metric_of(metrics, name), self.state.best_metric
        if best is None or (value > best if higher_is_better(self.args) else value < best):
            self.state.best_metric, self.state.best_global_step = value, self.state.global_step

    def _load_best(self) -> None:
        if self.args.load_best_model_at_end and self.state.best_model_checkpoint:
            checkpoints.restore(self.state.best_model_checkpoint, self._plan)
            self._plan.copy_weights()

    def save_model(self, output_dir: Optional[str] = None) -> None:
        """Writes the model with save_pretrained, and the processing class."""
        checkpoints.save_model(self.model, output_dir or self.args.output_dir, self.processing_class)

    def save_state(self) -> None:
        directory = pathlib.Path(self.args.output_dir)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "trainer_state.json").write_text(self.state.to_json())

    # ---- evaluation

    def evaluate(self, eval_dataset: Any = None, metric_key_prefix: str = "eval") -> dict[str, float]:
        """The mean loss and the metrics over a dataset, by default eval_dataset."""
        dataset = self.eval_dataset if eval_dataset is None else eval_dataset
        if dataset is None:
            raise Error("Trainer: there is no eval_dataset")
        metrics = self._predict(dataset, metric_key_prefix, self.compute_metrics is not None).metrics
        self.log(metrics)
        self._event("on_evaluate", metrics=metrics)
        return metrics

    def predict(self, test_dataset: Any, metric_key_prefix: str = "test") -> PredictionOutput:
        """The outputs of the model for each row, the labels, and the metrics."""
        return self._predict(test_dataset, metric_key_prefix, True)

    def _predict(self, dataset: Any, prefix: str, keeps: bool) -> PredictionOutput:
        begun, rows = time.monotonic(), self._rows(dataset, f"{prefix}_dataset")
        if self._plan is not None:
            self._plan.copy_weights()
        groups = rows.batches(range(len(rows)), self.args.eval_batch_size)
        plan, losses, predictions, labels = None, [], [], []
        for indices, batch in zip(groups, collated(rows, groups, self.data_collator)):
            plan = plan or self._evaluation(batch, rows)
            loss, predicted = self._predict_batch(plan, batch)
            losses += [] if loss is None else [(loss, len(indices))]
            if keeps and not self.args.prediction_loss_only:
                predictions.append(self._kept(predicted, batch))
                labels.append(_numpy(batch["labels"]) if "labels" in batch else None)
        metrics = {f"{prefix}_loss": sum(l * n for l, n in losses) / sum(n for _, n in losses)} if losses else {}
        found = EvalPrediction(_joined(predictions), _joined(labels))
        if self.compute_metrics is not None and found.label_ids is not None:
            metrics |= {
                k if k.startswith(prefix) else f"{prefix}_{k}": float(v) for k, v in self.compute_metrics(found).items()
            }
        metrics |= self._speed(prefix, begun, len(rows), len(groups))
        return PredictionOutput(found.predictions, found.label_ids, metrics)

    def _predict_batch(self, plan: EvaluationPlan, batch: Mapping[str, torch.Tensor]) -> tuple[Optional[float], Any]:
        """The loss, and the outputs without it."""
        outputs = plan.run(batch)
        loss = outputs.get("loss")
        rest = [value for name, value in outputs.items() if name != "loss"]
        return None if loss is None else float(loss), rest[0] if len(rest) == 1 else tuple(rest)

    def _kept(self, predicted: Any, batch: Mapping[str, torch.Tensor]) -> Any:
        if self.preprocess_logits_for_metrics is not None:
            predicted = self.preprocess_logits_for_metrics(predicted, batch.get("labels"))
        return tuple(map(_numpy, predicted)) if isinstance(predicted, tuple) else _numpy(predicted)

    def _evaluation(self, batch: Mapping[str, torch.Tensor], rows: Rows) -> EvaluationPlan:
        """The plan for batches of such inputs and rows of such lengths, with the weights of now."""
        lengths = Lengths(rows)
        key = (*batch, *lengths.key(batch))
        if key not in self._evaluations:
            self._evaluations[key] = EvaluationPlan(self.model, batch, lengths, self.data_collator, self.args)
        self._evaluations[key].load(self.model.state_dict())
        return self._evaluations[key]

    # ---- data

    def _rows(self, dataset: Any, what: str) -> Rows:
        return Rows(dataset, columns_of(self.model) if self.args.remove_unused_columns else None, what)

    def _default_collator(self) -> Collator:
        if hasattr(self.processing_class, "pad"):
            from transformers import DataCollatorWithPadding

            return DataCollatorWithPadding(self.processing_class)
        return default_collator

    def _speed(self, prefix: str, begun: float, rows: int, steps: int) -> dict[str, float]:
        seconds = time.monotonic() - begun
        return {
            f"{prefix}_runtime": seconds,
            f"{prefix}_samples_per_second": rows / seconds,
            f"{prefix}_steps_per_second": steps / seconds,
        }


def _numpy(tensor: torch.Tensor) -> numpy.ndarray:
    return tensor.detach().cpu().numpy()


def _joined(parts: list[Any]) -> Any:
    """One array of all batches. Batches of other lengths are padded at the end with -100."""
    if not parts or parts[0] is None:
        return None
    if isinstance(parts[0], tuple):
        return tuple(_joined([part[i] for part in parts]) for i in range(len(parts[0])))
    longest = max(part.shape[1] for part in parts) if parts[0].ndim > 1 else 0
    return numpy.concatenate([_padded(part, longest) if part.ndim > 1 else part for part in parts])


def _padded(part: numpy.ndarray, length: int) -> numpy.ndarray:
    widths = [(0, length - part.shape[1] if axis == 1 else 0) for axis in range(part.ndim)]
    return numpy.pad(part, widths, constant_values=-100)
