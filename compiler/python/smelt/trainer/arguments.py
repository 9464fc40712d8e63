"""The arguments of a training: the subset of transformers.TrainingArguments that Smelt supports."""

from __future__ import annotations

import difflib
import math
from dataclasses import asdict, dataclass, fields
from typing import Any, List, Optional, Union

from ..errors import Error
from .schedules import SCHEDULES

_STRATEGIES = ("no", "steps", "epoch")
_OPTIMIZERS = ("adamw_torch", "adamw_torch_fused", "sgd", "adagrad")
_WRITERS = ("none", "wandb", "mlflow")

_MUST_BE = {
    "push_to_hub": (False,),
    "gradient_checkpointing": (None, False),
    "torch_compile": (False,),
    "label_smoothing_factor": (0, 0.0),
    "auto_find_batch_size": (False,),
    "group_by_length": (False,),
    "fp16_full_eval": (False,),
    "bf16_full_eval": (False,),
    "deepspeed": (None,),
    "fsdp": (None, "", []),
    "local_rank": (-1,),
}
"""Arguments of transformers that are accepted with these values only."""

_WITHOUT_EFFECT = (
    "overwrite_output_dir",
    "dataloader_num_workers",
    "dataloader_pin_memory",
    "disable_tqdm",
    "log_level",
    "logging_dir",
    "logging_nan_inf_filter",
    "save_safetensors",
    "skip_memory_metrics",
    "tf32",
    "use_cpu",
)
"""Arguments of transformers that change no number of a run of Smelt."""


@dataclass
class _Arguments:
    output_dir: str = "trainer_output"
    do_train: bool = False
    do_eval: bool = False
    do_predict: bool = False
    per_device_train_batch_size: int = 8
    per_device_eval_batch_size: int = 8
    gradient_accumulation_steps: int = 1
    num_train_epochs: float = 3.0
    max_steps: int = -1
    learning_rate: float = 5e-5
    lr_scheduler_type: str = "linear"
    lr_scheduler_kwargs: Optional[dict] = None
    warmup_steps: float = 0
    warmup_ratio: float = 0.0
    optim: str = "adamw_torch"
    weight_decay: float = 0.0
    adam_beta1: float = 0.9
    adam_beta2: float = 0.999
    adam_epsilon: float = 1e-8
    max_grad_norm: float = 1.0
    bf16: bool = False
    fp16: bool = False
    logging_strategy: str = "steps"
    logging_steps: float = 500
    logging_first_step: bool = False
    eval_strategy: str = "no"
    eval_steps: Optional[float] = None
    prediction_loss_only: bool = False
    save_strategy: str = "steps"
    save_steps: float = 500
    save_total_limit: Optional[int] = None
    load_best_model_at_end: bool = False
    metric_for_best_model: Optional[str] = None
    greater_is_better: Optional[bool] = None
    resume_from_checkpoint: Optional[str] = None
    seed: int = 42
    data_seed: Optional[int] = None
    dataloader_drop_last: bool = False
    remove_unused_columns: bool = True
    report_to: Union[None, str, List[str]] = "none"
    run_name: Optional[str] = None


class TrainingArguments(_Arguments):
    """Arguments with the names, the meanings and the defaults of transformers.TrainingArguments. Those of transformers
    that change no number here, such as dataloader_num_workers, are accepted; any other is refused by its name."""

    def __init__(self, output_dir: Optional[str] = None, **given: Any) -> None:
        problems = self._refused(given)
        if problems:
            raise Error(f"{type(self).__name__}: " + "; ".join(problems))
        own = {name: value for name, value in given.items() if name in self._names()}
        super().__init__(**own) if output_dir is None else super().__init__(output_dir, **own)
        self._check()

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in fields(cls)]

    @classmethod
    def _refused(cls, given: dict[str, Any]) -> list[str]:
        problems = []
        for name, value in given.items():
            if name in _MUST_BE:
                if value not in _MUST_BE[name]:
                    problems.append(f"{name}={value!r} is not supported, expected {_MUST_BE[name][0]!r}")
            elif name not in cls._names() and name not in _WITHOUT_EFFECT:
                near = difflib.get_close_matches(name, cls._names(), 1)
                problems.append(f"{name} is not supported" + (f"; did you mean {near[0]}?" if near else ""))
        return problems

    def _check(self) -> None:
        problems = [
            f"{name}={value!r}, expected one of {', '.join(allowed)}"
            for name, value, allowed in (
                ("lr_scheduler_type", text_of(self.lr_scheduler_type), tuple(SCHEDULES)),
                ("optim", text_of(self.optim), _OPTIMIZERS),
                ("logging_strategy", text_of(self.logging_strategy), _STRATEGIES),
                ("eval_strategy", text_of(self.eval_strategy), _STRATEGIES),
                ("save_strategy", text_of(self.save_strategy), _STRATEGIES),
                *(("report_to", writer, _WRITERS) for writer in self.writers()),
            )
            if value not in allowed
        ]
        problems += [
            f"{name}={value}, expected at least {least}"
            for name, value, least in (
                ("per_device_train_batch_size", self.per_device_train_batch_size, 1),
                ("per_device_eval_batch_size", self.per_device_eval_batch_size, 1),
                ("gradient_accumulation_steps", self.gradient_accumulation_steps, 1),
                ("learning_rate", self.learning_rate, 0),
                ("warmup_steps", self.warmup_steps, 0),
            )
            if not value >= least
        ]
        if self.bf16 and self.fp16:
            problems.append("bf16 and fp16, expected at most one of them")
        problems += [*self._bad_intervals(), *self._bad_best()]
        if problems:
            raise Error(f"{type(self).__name__}: " + "; ".join(problems))

    def _bad_intervals(self) -> list[str]:
        given = {name: getattr(self, f"{name}_steps") for name in ("logging", "eval", "save")}
        return [
            f"{name}_steps={every}, expected a whole number of at least 1, or a share of all steps above 0 and below 1"
            for name, every in given.items()
            if text_of(getattr(self, f"{name}_strategy")) == "steps" and every is not None
            if not (0 < every < 1 or (every >= 1 and every == int(every)))
        ]

    def _bad_best(self) -> list[str]:
        """The best of the evaluations is among the checkpoints only if each of these follows an evaluation."""
        saves, evaluates = text_of(self.save_strategy), text_of(self.eval_strategy)
        if not self.load_best_model_at_end:
            return []
        if evaluates == "no" or saves != evaluates:
            return [
                "load_best_model_at_end compares evaluations: expected save_strategy and eval_strategy to be equal, "
                f"and not 'no'; they are {saves!r} and {evaluates!r}"
            ]
        every = self.logging_steps if self.eval_steps is None else self.eval_steps
        if saves == "epoch" or _is_multiple(self.save_steps, every):
            return []
        return [f"load_best_model_at_end: save_steps={self.save_steps}, expected a multiple of eval_steps={every}"]

    # ---- what follows from the arguments

    def writers(self) -> list[str]:
        """The names of report_to, as a list."""
        given = self.report_to
        return [] if given is None else [given] if isinstance(given, str) else list(given)

    @property
    def train_batch_size(self) -> int:
        return self.per_device_train_batch_size

    @property
    def eval_batch_size(self) -> int:
        return self.per_device_eval_batch_size

    @property
    def precision(self) -> str:
        return "bf16" if self.bf16 else "fp16" if self.fp16 else "fp32"

    def get_warmup_steps(self, num_training_steps: int) -> int:
        """A number below 1 is a share of all steps."""
        share = self.warmup_steps if 0 < self.warmup_steps < 1 else self.warmup_ratio
        return int(self.warmup_steps) if self.warmup_steps >= 1 else math.ceil(num_training_steps * share)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class _Seq2SeqArguments(TrainingArguments):
    predict_with_generate: bool = False
    generation_max_length: Optional[int] = None
    generation_num_beams: Optional[int] = None


class Seq2SeqTrainingArguments(_Seq2SeqArguments):
    """Arguments of Seq2SeqTrainer."""

    def __init__(self, output_dir: Optional[str] = None, **given: Any) -> None:
        own = {name: given.pop(name) for name in list(given) if name in _Seq2SeqArguments.__annotations__}
        TrainingArguments.__init__(self, output_dir, **given)
        for name in _Seq2SeqArguments.__annotations__:
            setattr(self, name, own.get(name, getattr(_Seq2SeqArguments, name)))


def _is_multiple(number: float, of: float) -> bool:
    """Of two numbers of steps, or of two shares, to a millionth."""
    if of <= 0 or (number < 1) != (of < 1):
        return of <= 0  # which has a message of its own
    return round(number * 1_000_000) % max(1, round(of * 1_000_000)) == 0


def text_of(value: Any) -> str:
    """The text of a member of one of transformers' enumerations, such as SchedulerType.LINEAR, or of a text."""
    return str(getattr(value, "value", value))
