"""smelt.Trainer against transformers' Trainer: the scripts below are written in the manner of transformers' examples for
language modelling, GLUE and translation, and run with the one and with the other."""

import json
import math
import random
import sys
import types

import numpy as np
import pytest
import torch
import transformers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorForSeq2Seq,
    LlamaConfig,
    LlamaForCausalLM,
    MarianConfig,
    MarianMTModel,
    default_data_collator,
)

import smelt
from smelt.trainer.schedules import schedule

WITHIN = 1e-4  # of every loss
OPTIONS = dict(logging_steps=1, eval_strategy="steps", eval_steps=4, save_strategy="no", report_to="none", seed=3)


class Rows(torch.utils.data.Dataset):
    """A dataset of a list of rows."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


class PaddingTokenizer:
    """What the collators need of a tokenizer: padding with 0 to the longest row."""

    padding_side, pad_token_id = "right", 0
    model_input_names = ("input_ids", "attention_mask")

    def pad(self, rows, return_tensors=None, **options):
        longest = max(len(row["input_ids"]) for row in rows)
        padded = {}
        for name in rows[0]:
            values = [list(row[name]) for row in rows] if name != "label" else [row[name] for row in rows]
            fill = [v + [0] * (longest - len(v)) for v in values] if isinstance(values[0], list) else values
            padded[name] = torch.tensor(fill)
        padded.setdefault("attention_mask", (padded["input_ids"] != 0).long())
        return padded


def numbers(count, low, high, seed):
    return np.random.default_rng(seed).integers(low, high, count).tolist()


def llama(layers):
    config = LlamaConfig(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=16,
    )
    return LlamaForCausalLM(config)


# ---- the scripts; `library` is transformers or smelt


def run_clm(library, out, **more):
    """As examples/pytorch/language-modeling/run_clm.py: texts in blocks of one length."""
    torch.manual_seed(0)
    model = llama(layers=2)
    text = [((i * i) // 3 + i // 7) % 50 for i in range(16 * 44)]
    blocks = [text[i : i + 16] for i in range(0, len(text), 16)]
    rows = [{"input_ids": block, "labels": list(block)} for block in blocks]
    arguments = {
        **OPTIONS,
        "learning_rate": 3e-3,
        "per_device_train_batch_size": 4,
        "num_train_epochs": 1,
        "warmup_steps": 2,
    }
    args = library.TrainingArguments(str(out), **{**arguments, **more})
    trainer = library.Trainer(
        model=model,
        args=args,
        train_dataset=Rows(rows[:38]),
        eval_dataset=Rows(rows[38:]),
        data_collator=default_data_collator,
    )
    result = trainer.train()
    metrics = trainer.evaluate()
    return trainer, {"train_loss": result.training_loss, "perplexity": math.exp(metrics["eval_loss"])}


def run_glue(library, out, **more):
    """As examples/pytorch/text-classification/run_glue.py: sentences of several lengths, and accuracy."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=32,
        num_labels=3,
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
    )
    model = BertForSequenceClassification(config)
    rows = []
    for i in range(40):
        ids = numbers(5 + i % 9, 1, 60, i)
        rows.append({"input_ids": ids, "attention_mask": [1] * len(ids), "label": sum(ids) % 3, "idx": i})

    def compute_metrics(predicted):
        scores = predicted.predictions[0] if isinstance(predicted.predictions, tuple) else predicted.predictions
        return {"accuracy": (scores.argmax(axis=1) == predicted.label_ids).astype(np.float32).mean().item()}

    arguments = {
        **OPTIONS,
        "learning_rate": 1e-3,
        "per_device_train_batch_size": 6,
        "num_train_epochs": 2,
        "weight_decay": 0.1,
    }
    arguments["lr_scheduler_type"] = "cosine"
    trainer = library.Trainer(
        model=model,
        args=library.TrainingArguments(str(out), **{**arguments, **more}),
        train_dataset=Rows(rows[:28]),
        eval_dataset=Rows(rows[28:]),
        compute_metrics=compute_metrics,
        data_collator=classification_collator,
    )
    trainer.train()
    return trainer, trainer.evaluate()


def classification_collator(rows):
    batch = PaddingTokenizer().pad([{k: v for k, v in row.items()} for row in rows])
    batch["labels"] = batch.pop("label")
    return batch


def run_translation(library, out, **more):
    """As examples/pytorch/translation/run_translation.py: pairs of sentences, and metrics of what is generated."""
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=40,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_position_embeddings=32,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        dropout=0,
        attention_dropout=0,
        activation_dropout=0,
        forced_eos_token_id=None,
    )
    model = MarianMTModel(config)
    rows = []
    for i in range(30):
        ids = numbers(4 + i % 5, 2, 40, i) + [1]
        rows.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": ids[: 3 + i % 4] + [1]})

    def compute_metrics(predicted):
        assert predicted.predictions.ndim == 2, "tokens that were generated"
        return {"gen_len": float(np.mean([np.count_nonzero(row > 0) for row in predicted.predictions]))}

    arguments = {
        **OPTIONS,
        "learning_rate": 2e-3,
        "per_device_train_batch_size": 4,
        "num_train_epochs": 1,
        "predict_with_generate": True,
        "generation_max_length": 8,
        "lr_scheduler_type": "polynomial",
    }
    trainer = library.Seq2SeqTrainer(
        model=model,
        args=library.Seq2SeqTrainingArguments(str(out), **{**arguments, **more}),
        train_dataset=Rows(rows[:22]),
        eval_dataset=Rows(rows[22:]),
        compute_metrics=compute_metrics,
        data_collator=translation_collator,
    )
    trainer.train()
    return trainer, trainer.evaluate()


def translation_collator(rows):
    longest = max(len(row["labels"]) for row in rows)
    labels = [row["labels"] + [-100] * (longest - len(row["labels"])) for row in rows]
    batch = PaddingTokenizer().pad([{n: v for n, v in row.items() if n != "labels"} for row in rows])
    return {**batch, "labels": torch.tensor(labels)}


# ---- the comparisons


def logged(trainer, name):
    return [entry[name] for entry in trainer.state.log_history if name in entry]


@pytest.mark.parametrize(
    "script, more",
    [(run_clm, {}), (run_clm, {"gradient_accumulation_steps": 2}), (run_glue, {}), (run_translation, {})],
    ids=["clm", "clm-accumulated", "glue", "translation"],
)
def test_losses_are_those_of_transformers(script, more, tmp_path):
    pytest.importorskip("accelerate", reason="transformers' Trainer needs it")
    theirs, expected = script(transformers, tmp_path / "theirs", use_cpu=True, disable_tqdm=True, **more)
    ours, found = script(smelt, tmp_path / "ours", **more)
    assert ours.state.global_step == theirs.state.global_step
    for name in ("loss", "eval_loss"):
        there, here = logged(theirs, name), logged(ours, name)
        assert len(here) == len(there) > 0
        assert max(abs(a - b) for a, b in zip(here, there)) < WITHIN, (name, here, there)
    for name in set(found) & set(expected):
        if not name.endswith(("runtime", "per_second")):
            assert found[name] == pytest.approx(expected[name], abs=WITHIN * (50 if name == "perplexity" else 1)), name


SCHEDULES = [
    ("linear", {}),
    ("cosine", {}),
    ("cosine_with_restarts", {"num_cycles": 3}),
    ("polynomial", {"power": 2.0, "lr_end": 1e-5}),
    ("constant", {}),
    ("constant_with_warmup", {}),
    ("inverse_sqrt", {}),
    ("cosine_with_min_lr", {"min_lr": 1e-4}),
    ("warmup_stable_decay", {"num_decay_steps": 10, "decay_type": "1-sqrt", "min_lr_ratio": 0.1}),
]


@pytest.mark.parametrize("name, options", SCHEDULES)
def test_schedules_are_those_of_transformers(name, options):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1e-3)
    theirs = transformers.get_scheduler(name, optimizer, 5, 40, scheduler_specific_kwargs=options)
    factor = schedule(name, 1e-3, 5, 40, options)
    for step in range(45):
        assert 1e-3 * factor(step) == pytest.approx(theirs.get_last_lr()[0], abs=1e-12), (name, step)
        optimizer.step(), theirs.step()


# ---- what the loop does


def test_a_resumed_training_ends_with_the_same_weights(tmp_path):
    whole, _ = run_clm(smelt, tmp_path / "whole", save_strategy="steps", save_steps=4)
    again, _ = run_clm(
        smelt,
        tmp_path / "again",
        save_strategy="steps",
        save_steps=4,
        resume_from_checkpoint=str(tmp_path / "whole/checkpoint-4"),
    )
    assert again.state.global_step == whole.state.global_step == 10
    assert logged(again, "loss") == logged(whole, "loss")
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(weight, again.model.state_dict()[name]), name
    LlamaForCausalLM.from_pretrained(tmp_path / "whole/checkpoint-8")


def drawing_collator(rows):
    """Masks tokens by the random numbers of Python, NumPy and PyTorch."""
    batch = default_data_collator(rows)
    for drawn in (random.randrange(16), np.random.randint(16), int(torch.randint(16, ()))):
        batch["input_ids"][:, drawn] = drawn
    return batch


def test_a_resumed_training_draws_the_same_numbers(tmp_path):
    rows = [{"input_ids": numbers(16, 0, 50, i), "labels": numbers(16, 0, 50, i)} for i in range(24)]

    def trained(out, resume=None):
        torch.manual_seed(0)
        options = dict(logging_steps=1, save_steps=2, max_steps=5, per_device_train_batch_size=4)
        args = smelt.TrainingArguments(str(out), **options)
        trainer = smelt.Trainer(llama(layers=1), args, drawing_collator, Rows(rows))
        trainer.train(resume)
        return trainer

    whole = trained(tmp_path / "whole")
    again = trained(tmp_path / "again", tmp_path / "whole/checkpoint-2")
    assert logged(again, "loss") == logged(whole, "loss")


def test_a_resumed_training_keeps_its_patience(tmp_path):
    options = dict(learning_rate=0.0, eval_steps=1, save_strategy="steps", save_steps=1, metric_for_best_model="loss")
    trainer, _ = run_clm(smelt, tmp_path, max_steps=1, **options)
    trainer.add_callback(smelt.EarlyStoppingCallback(early_stopping_patience=3))
    trainer.args.max_steps = 3
    assert trainer.train().global_step == 3, "two evaluations that are no better"
    again, _ = run_clm(smelt, tmp_path / "other", max_steps=1, **options)
    again.args.max_steps = 8
    again.add_callback(smelt.EarlyStoppingCallback(early_stopping_patience=3))
    assert again.train(tmp_path / "checkpoint-3").global_step == 4


def test_a_new_checkpoint_stays_beside_those_of_an_older_run(tmp_path):
    options = dict(save_strategy="steps", save_steps=2, save_total_limit=1)
    run_clm(smelt, tmp_path, max_steps=6, **options)
    run_clm(smelt, tmp_path, max_steps=2, **options)
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-2"]


def test_the_best_checkpoint_stays_and_is_loaded(tmp_path):
    options = dict(
        num_train_epochs=20, eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, learning_rate=3e-2
    )
    trainer, _ = run_glue(
        smelt,
        tmp_path,
        load_best_model_at_end=True,
        metric_for_best_model="loss",
        lr_scheduler_type="constant",
        **options
    )
    losses = logged(trainer, "eval_loss")
    assert trainer.state.best_metric == min(losses[:-1]) and losses[-1] == pytest.approx(min(losses[:-1]), abs=1e-6)
    assert len(list(tmp_path.glob("checkpoint-*"))) <= 2


def test_callbacks_see_the_events_and_stop_the_training(tmp_path):
    seen = []

    class Watch(smelt.TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            seen.append(state.global_step)

        def on_log(self, args, state, control, logs=None, **kwargs):
            seen.append(sorted(logs))

        def on_evaluate(self, args, state, control, metrics=None, **kwargs):
            control.should_training_stop = state.global_step >= 4

    trainer, _ = run_clm(smelt, tmp_path, max_steps=1)
    trainer.args.max_steps = 8
    trainer.add_callback(Watch)
    assert trainer.train().global_step == 4
    assert seen[:4] == [
        1,
        ["epoch", "grad_norm", "learning_rate", "loss"],
        2,
        ["epoch", "grad_norm", "learning_rate", "loss"],
    ]


def test_early_stopping(tmp_path):
    trainer, _ = run_clm(smelt, tmp_path, max_steps=1)
    trainer.args.max_steps, trainer.args.learning_rate, trainer.args.eval_steps = 40, 0.0, 1
    trainer.args.metric_for_best_model = "loss"
    trainer.add_callback(smelt.EarlyStoppingCallback(early_stopping_patience=3))
    assert trainer.train().global_step == 4, "an evaluation, and three that are no better"


@pytest.mark.parametrize("package", ["wandb", "mlflow"])
def test_numbers_are_sent_to_services(package, tmp_path, monkeypatch):
    calls = []
    record = lambda name: lambda *args, **kwargs: calls.append((name, args, kwargs))
    fake = types.ModuleType(package)
    for name in ("init", "log", "finish", "start_run", "log_params", "log_metrics", "end_run"):
        setattr(fake, name, record(name))
    fake.run, fake.active_run = None, lambda: None
    monkeypatch.setitem(sys.modules, package, fake)
    run_clm(smelt, tmp_path, max_steps=2, report_to=package, run_name="a run")
    names = [name for name, _, _ in calls]
    begin, log, end = ("init", "log", "finish") if package == "wandb" else ("start_run", "log_metrics", "end_run")
    assert names[0] == begin and names.count(log) >= 3 and end in names
    first = next(args[0] for name, args, _ in calls if name == log)
    assert "train/loss" in first and "train/learning_rate" in first


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(smelt.Error, match="WandbCallback needs the package wandb: pip install wandb"):
        run_clm(smelt, tmp_path, max_steps=1, report_to=["wandb"])


@pytest.mark.parametrize(
    "given, message",
    [
        (
            {"learning_rte": 1, "push_to_hub": True},
            "learning_rte is not supported; did you mean learning_rate.*push_to_hub=True",
        ),
        ({"deepspeed": "ds.json"}, "deepspeed='ds.json' is not supported, expected None"),
        ({"label_smoothing_factor": 0.1}, "label_smoothing_factor=0.1 is not supported"),
        (
            {"lr_scheduler_type": "reduce_lr_on_plateau"},
            "lr_scheduler_type='reduce_lr_on_plateau', expected one of linear",
        ),
        ({"optim": "adafactor"}, "optim='adafactor', expected one of adamw_torch"),
        ({"bf16": True, "fp16": True}, "at most one"),
        ({"logging_steps": 0}, "logging_steps=0, expected a whole number of at least 1"),
        ({"eval_strategy": "steps", "eval_steps": 0}, "eval_steps=0, expected a whole number of at least 1"),
        ({"save_steps": 2.5}, "save_steps=2.5, expected a whole number of at least 1"),
        (
            {"load_best_model_at_end": True, "eval_strategy": "steps", "eval_steps": 2, "save_steps": 5},
            "save_steps=5, expected a multiple of eval_steps=2",
        ),
        (
            {"load_best_model_at_end": True, "eval_strategy": "no", "save_strategy": "no"},
            "load_best_model_at_end compares evaluations: .*not 'no'",
        ),
        (
            {"load_best_model_at_end": True, "eval_strategy": "epoch", "save_strategy": "steps"},
            "they are 'steps' and 'epoch'",
        ),
    ],
)
def test_what_is_not_supported_is_named(given, message):
    with pytest.raises(smelt.Error, match=message):
        smelt.TrainingArguments("out", **given)


def tuple_collator(rows):
    ones = torch.ones(len(rows), 4, dtype=torch.long)
    return {"input_ids": ones, "labels": ones}


def test_mistakes_are_said(tmp_path):
    model = llama(layers=1)
    with pytest.raises(smelt.Error, match="Trainer: optimizers is not supported"):
        smelt.Trainer(model, optimizers=(1, 2))
    with pytest.raises(smelt.Error, match="there is no train_dataset"):
        smelt.Trainer(model).train()
    with pytest.raises(smelt.Error, match="train_dataset has no rows"):
        smelt.Trainer(model, train_dataset=Rows([])).train()
    with pytest.raises(smelt.Error, match="rows of different lengths need a data_collator"):
        rows = [{"input_ids": [1] * n, "labels": [1] * n} for n in (3, 4)]
        smelt.Trainer(model, train_dataset=Rows(rows)).train()
    with pytest.raises(smelt.Error, match="row . of a dataset is a tuple, expected a mapping of columns"):
        smelt.Trainer(model, train_dataset=Rows([(1, 2)] * 4), data_collator=tuple_collator).train()
    with pytest.raises(smelt.Error, match="row . of a dataset is a tuple, expected a mapping of columns"):
        smelt.Trainer(model, train_dataset=Rows([(1, 2)] * 4)).train()
    with pytest.raises(smelt.Error, match="no checkpoint in"):
        rows = [{"input_ids": [1] * 4, "labels": [1] * 4} for _ in range(4)]
        smelt.Trainer(model, smelt.TrainingArguments(str(tmp_path)), train_dataset=Rows(rows)).train(True)


def test_arguments_are_those_of_an_argument_parser(tmp_path):
    args = smelt.TrainingArguments(str(tmp_path), warmup_steps=0.1, dataloader_num_workers=4, push_to_hub=False)
    assert args.get_warmup_steps(95) == 10 and args.learning_rate == 5e-5
    (parsed,) = transformers.HfArgumentParser(smelt.TrainingArguments).parse_args_into_dataclasses(
        ["--output_dir", "out", "--learning_rate", "0.5", "--do_train"]
    )
    assert (parsed.output_dir, parsed.learning_rate, parsed.do_train) == ("out", 0.5, True)
    assert json.dumps(args.to_dict())
