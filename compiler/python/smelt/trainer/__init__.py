"""A training loop with the names of transformers' Trainer, whose steps are compiled plans.

    from smelt import Trainer, TrainingArguments        # in place of transformers'
    trainer = Trainer(model, TrainingArguments("out", num_train_epochs=1), train_dataset=train, eval_dataset=held_back)
    trainer.train()

Arguments have transformers' names where they mean the same. What is not supported is refused by its name.
"""

from .arguments import Seq2SeqTrainingArguments, TrainingArguments
from .callbacks import (
    EarlyStoppingCallback,
    MLflowCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    WandbCallback,
)
from .loop import EvalPrediction, PredictionOutput, Trainer, TrainOutput
from .seq2seq import Seq2SeqTrainer

__all__ = [
    "EarlyStoppingCallback",
    "EvalPrediction",
    "MLflowCallback",
    "PredictionOutput",
    "Seq2SeqTrainer",
    "Seq2SeqTrainingArguments",
    "TrainOutput",
    "Trainer",
    "TrainerCallback",
    "TrainerControl",
    "TrainerState",
    "TrainingArguments",
    "WandbCallback",
]
