"""A run that goes on with another batch sees the records that it has not seen."""

import json
import shutil

import numpy
import pytest
import torch
import transformers as tf
from safetensors.numpy import save_file

RECORDS = 16


@pytest.fixture
def run(smelt, saved, tmp_path):
    config = tf.GPT2Config(vocab_size=96, n_embd=32, n_layer=1, n_head=4, n_positions=16)
    directory, model = saved(tf.GPT2LMHeadModel, config)
    ids = numpy.random.RandomState(0).randint(4, 96, (RECORDS, 8)).astype(numpy.int32)
    save_file(dict(input_ids=ids, labels=ids), tmp_path / "records.safetensors")
    rows = torch.tensor(ids).long()
    with torch.no_grad():
        loss = [model(input_ids=rows[i : i + 1], labels=rows[i : i + 1]).loss.item() for i in range(RECORDS)]

    def train(name, *options):
        """The losses of the steps; the learning rate leaves the model as it is."""
        still = ("--held-back", 0, "--lr", 1e-30, "--weight-decay", 0, "--dropout", 0, "--seed", 1)
        data = ("--data", tmp_path / "records.safetensors")
        smelt.good("train", directory, *data, *still, "--run-dir", tmp_path / name, *options)
        lines = (tmp_path / name / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line)["loss"] for line in lines if '"event":"step"' in line]

    found = train("all", "--batch", 1, "--steps", RECORDS)
    order = [min(range(RECORDS), key=lambda i: abs(loss[i] - x)) for x in found]
    assert sorted(order) == list(range(RECORDS))
    return train, [loss[i] for i in order]


def means(losses, count):
    return [float(numpy.mean(losses[i : i + count])) for i in range(0, len(losses), count)]


@pytest.mark.parametrize("batch, accumulate", [(2, 1), (1, 2), (3, 1), (2, 2)])
def test_the_next_unseen_records_come_next(run, batch, accumulate):
    train, losses = run
    assert train("part", "--batch", 1, "--steps", 4) == pytest.approx(losses[:4], abs=1e-4)
    together = batch * accumulate
    steps = (RECORDS - 4) // together
    later = train("part", "--batch", batch, "--accumulate", accumulate, "--steps", 4 + steps, "--resume")[4:]
    assert later == pytest.approx(means(losses[4:], together)[:steps], abs=1e-4)


def test_changes_of_the_batch_add_up(run):
    train, losses = run
    train("part", "--batch", 1, "--steps", 3)
    train("part", "--batch", 3, "--steps", 5, "--resume")
    last = train("part", "--batch", 2, "--steps", 8, "--resume")[5:]
    assert last == pytest.approx(means(losses[9:], 2)[:3], abs=1e-4)


def test_a_best_checkpoint_that_is_left_alone_is_not_lost(smelt, saved, tmp_path):
    config = tf.GPT2Config(vocab_size=96, n_embd=32, n_layer=1, n_head=4, n_positions=16)
    directory, _ = saved(tf.GPT2LMHeadModel, config)
    ids = numpy.random.RandomState(0).randint(4, 96, (RECORDS, 8)).astype(numpy.int32)
    save_file(dict(input_ids=ids, labels=ids), tmp_path / "records.safetensors")
    command = ["train", directory, "--data", tmp_path / "records.safetensors", "--run-dir", tmp_path / "run", "--steps", 4]
    command += ["--held-back", 0.25, "--eval-every", 2, "--early-stopping", 9, "--batch", 1]
    smelt.good(*command)
    best = sorted((tmp_path / "run" / "best").iterdir())
    assert best
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    for more in ([], ["--resume"]):
        status, _, err = smelt(*command, *more)
        assert status != 0 and "only the best checkpoint is left" in err
    assert sorted((tmp_path / "run" / "best").iterdir()) == best
