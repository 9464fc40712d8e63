"""Training with matmuls in fp8: near bf16, rounded more than it, with weights by name, and what is refused."""

import pathlib

import numpy
import pytest

import smelt

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "goldens" / "gpt2"


def losses(golden, **options):
    plan = smelt.compile(GOLDEN, mode="train", max={"B": 4, "T": 32}, dropout=0.0, attention_mask=True, **options)
    session = plan.session()
    batch = {name: golden["tensors"]["input." + name] for name in ("input_ids", "attention_mask", "labels")}
    return numpy.array([session.step(lr=golden["adamw"]["lr"], **batch).loss for _ in range(10)])


def test_losses_are_near_those_of_bf16(golden):
    narrow = losses(golden, precision="bf16")
    fp8 = losses(golden, precision="fp8", fp8_weights=["*"])
    assert 1e-5 < numpy.abs(fp8 / narrow - 1).max() < 1e-2


def test_nothing_to_multiply_in_fp8_is_refused(golden):
    with pytest.raises(smelt.Error, match="no weight of this model is large enough"):
        losses(golden, precision="fp8")
    with pytest.raises(smelt.Error, match="no weight whose name fits"):
        losses(golden, precision="fp8", fp8_weights=["*"], keep_floats=["*"])


def test_inference_is_refused():
    with pytest.raises(smelt.Error, match="precision=fp8 is for training"):
        smelt.compile(GOLDEN, mode="infer", precision="fp8")
