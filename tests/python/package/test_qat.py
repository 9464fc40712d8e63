"""Quantisation-aware training: near fp32, bounds that are learned, and inference with its weights."""

import json

import numpy
import pytest

import smelt


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.json"
    sizes = {"family": "llama", "vocab_size": 48, "hidden": 32, "max_positions": 16, "decoder": {"layers": 2, "heads": 2}}
    path.write_text(json.dumps(sizes))
    return path


def batch():
    ids = numpy.arange(64, dtype=numpy.int32).reshape(4, 16) * 7 % 48
    return {"input_ids": ids, "labels": ids}


def losses(session):
    return numpy.array([session.step(lr=0.01, **batch()).loss for _ in range(10)])


def test_losses_are_near_those_of_floats(spec):
    floats = losses(smelt.compile(spec, mode="train", max={"B": 4, "T": 16}).session())
    rounded = losses(smelt.compile(spec, mode="train", max={"B": 4, "T": 16}, qat="int8").session())
    assert rounded[-1] < rounded[0] - 0.5
    assert 1e-6 < numpy.abs(rounded / floats - 1).max() < 0.1


def bounds(session):
    return [float(array.numpy()) for name, array in session.state_dict().items() if name.endswith("input_bound")]


@pytest.mark.parametrize("accumulates", [False, True])
def test_the_first_batch_sets_the_bounds(spec, accumulates):
    options = {"mode": "train", "max": {"B": 4, "T": 16}, "qat": "int8"}
    session = smelt.compile(spec, **options).session()
    assert set(bounds(session)) == {16}
    if accumulates:
        session.accumulate(**batch())
        session.apply(lr=1e-6)
    else:
        session.step(lr=1e-6, **batch())
    first = bounds(session)
    assert 0 < max(first) < 16
    session.step(lr=1e-6, **batch())
    assert numpy.abs(numpy.array(bounds(session)) - first).max() < 1e-4, "they are trained from there on"


def test_weights_of_training_are_those_of_inference(spec, tmp_path):
    session = smelt.compile(spec, mode="train", max={"B": 4, "T": 16}, qat="int8").session()
    losses(session)
    session.save_weights(tmp_path / "model.safetensors")
    expected = session.run("logits", input_ids=batch()["input_ids"])["logits"].numpy()
    plan = smelt.compile(spec, mode="infer", max={"B": 4, "T": 16}, qat="int8")
    inference = plan.session(weights=tmp_path / "model.safetensors")
    found = inference.run("logits", input_ids=batch()["input_ids"])["logits"].numpy()
    assert numpy.abs(found - expected).max() <= 1e-4 * numpy.abs(expected).max()


def test_what_cannot_be_int8_is_refused(spec):
    with pytest.raises(smelt.Error, match="leave one out"):
        smelt.compile(spec, mode="train", qat="int8", precision="fp8")
    with pytest.raises(smelt.Error, match="no weight of this model can be multiplied in int8"):
        smelt.compile(spec, mode="train", qat="int8", keep_floats=["*"])
