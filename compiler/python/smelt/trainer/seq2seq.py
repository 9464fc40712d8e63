"""Seq2SeqTrainer: a Trainer that can evaluate an encoder-decoder by what it generates."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import torch

from .loop import Trainer
from .plans import EvaluationPlan


class Seq2SeqTrainer(Trainer):
    """With predict_with_generate in its arguments, predictions are the tokens that the model's own `generate` makes from
    each source, by generation_max_length and generation_num_beams."""

    def _predict_batch(self, plan: EvaluationPlan, batch: Mapping[str, torch.Tensor]) -> tuple[Optional[float], Any]:
        loss, outputs = super()._predict_batch(plan, batch)
        if not getattr(self.args, "predict_with_generate", False):
            return loss, outputs
        asked = {"max_length": self.args.generation_max_length, "num_beams": self.args.generation_num_beams}
        given = {name: value for name, value in batch.items() if name in ("input_ids", "attention_mask")}
        was_training = self.model.training
        self.model.eval()
        with torch.no_grad():
            made = self.model.generate(**given, **{name: value for name, value in asked.items() if value is not None})
        self.model.train(was_training)
        return loss, made
