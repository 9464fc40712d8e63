"""The compiled parts of a training: the plan of its updates, and that of its evaluations."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import torch

from .. import optimizers
from ..errors import Error
from ..session import Session
from ..torch import compile_module
from .arguments import TrainingArguments, text_of
from .sizes import Lengths, changing_dims


def optimizer_of(args: TrainingArguments) -> optimizers.Optimizer:
    """The update rule. As in transformers, biases and the weights of norms have no weight decay."""
    name, clip = text_of(args.optim), args.max_grad_norm or None
    common: dict[str, Any] = {
        "lr": args.learning_rate,
        "weight_decay": args.weight_decay,
        "clip": clip,
        "decay": "declared",
    }
    if name == "sgd":
        return optimizers.SGD(**common)
    if name == "adagrad":
        return optimizers.Adagrad(**common)
    return optimizers.AdamW(betas=(args.adam_beta1, args.adam_beta2), eps=args.adam_epsilon, **common)


def _sample(batch: Mapping[str, torch.Tensor], shapes: Mapping[str, Mapping[int, str]]) -> dict[str, torch.Tensor]:
    """The batch with at least two places along each dim that changes: PyTorch takes a size of 1 for a constant."""
    sample = {}
    for name, tensor in batch.items():
        for axis in shapes[name]:
            if tensor.shape[axis] == 1:
                tensor = torch.cat([tensor, tensor], axis)
        sample[name] = tensor
    return sample


def _compiled(
    model: torch.nn.Module,
    batch: Mapping[str, torch.Tensor],
    rows: int,
    lengths: Lengths,
    collator: Any,
    **options: Any,
) -> Any:
    multiple = getattr(collator, "pad_to_multiple_of", None) or 1
    shapes, bounds = changing_dims(batch, rows, lengths, multiple)
    return compile_module(model, _sample(batch, shapes), dynamic_shapes=shapes, max=bounds, **options)


class TrainingPlan:
    """The session of the updates. Weights are in the session's memory, and copied to the module on request."""

    def __init__(
        self,
        model: torch.nn.Module,
        batch: Mapping[str, torch.Tensor],
        lengths: Lengths,
        collator: Any,
        args: TrainingArguments,
    ) -> None:
        self.model = model
        was_training = model.training
        model.train()
        try:
            plan = _compiled(
                model,
                batch,
                args.train_batch_size,
                lengths,
                collator,
                mode="train",
                loss="loss",
                optimizer=optimizer_of(args),
                precision=args.precision,
            )
        finally:
            model.train(was_training)
        self.session = plan.session()
        self._accumulates = args.gradient_accumulation_steps > 1

    def update(self, batches: list[Mapping[str, torch.Tensor]], rate: float) -> tuple[float, Optional[float]]:
        """One update by the mean gradient over the targets of the batches; returns loss and gradient norm."""
        if not self._accumulates:
            result = self.session.step(lr=rate, **batches[0])
        else:
            for batch in batches:
                self.session.accumulate(**batch)
            result = self.session.apply(lr=rate)
        return result.loss, result.gradient_norm

    def copy_weights(self) -> None:
        self.session.copy_to(self.model)

    def state(self) -> tuple[dict[str, torch.Tensor], int]:
        """Everything that a resumed training needs, and the number of updates."""
        state = Session.state_dict(self.session, optimizer=True)
        updates = state.pop("optimizer.updates")
        return {name: torch.from_dlpack(value) for name, value in state.items()}, updates

    def load_state(self, state: Mapping[str, torch.Tensor], updates: int) -> None:
        Session.load_state_dict(self.session, {**state, "optimizer.updates": updates})


class EvaluationPlan:
    """The session of the forward in evaluation, with the weights that it is given."""

    def __init__(
        self,
        model: torch.nn.Module,
        batch: Mapping[str, torch.Tensor],
        lengths: Lengths,
        collator: Any,
        args: TrainingArguments,
    ) -> None:
        self.inputs = tuple(batch)
        plan = _compiled(model, batch, args.eval_batch_size, lengths, collator, mode="infer", precision=args.precision)
        self.session = plan.session()

    def load(self, weights: Mapping[str, torch.Tensor]) -> None:
        self.session.load_state_dict(weights, strict=False)

    def run(self, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        if tuple(batch) != self.inputs:
            raise Error(f"the evaluation reads {', '.join(self.inputs)}, and a batch has {', '.join(batch)}")
        return self.session.run(**batch)
