"""What the tests of the package share: the golden model, its inputs, and plans that are compiled once."""

import json
import pathlib
import struct

import numpy
import pytest

import smelt

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "goldens" / "gpt2"
DTYPES = {"F32": numpy.float32, "I32": numpy.int32}


def read_safetensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(data[8 + size + begin : 8 + size + end], DTYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"]).copy()
    return tensors


@pytest.fixture(scope="session")
def golden():
    tensors = read_safetensors(GOLDEN / "golden.safetensors")
    return {"tensors": tensors, **json.loads((GOLDEN / "golden.json").read_text())}


@pytest.fixture(scope="session")
def ids(golden):
    return golden["tensors"]["input.input_ids"]


@pytest.fixture(scope="session")
def plan():
    return smelt.compile(GOLDEN, mode="infer", entry=["logits"], max={"B": 4, "T": 32}, attention_mask=True)


@pytest.fixture(scope="session")
def session(plan):
    return plan.session()


@pytest.fixture(scope="session")
def training_plan(golden):
    rule = golden["adamw"]
    return smelt.compile(
        GOLDEN,
        mode="train",
        max={"B": 4, "T": 32},
        dropout=0.0,
        attention_mask=True,
        beta1=rule["betas"][0],
        beta2=rule["betas"][1],
        eps=rule["eps"],
        weight_decay=rule["weight_decay"],
        decay="all",
        clip=1e9,
    )


def relative(found, expected):
    found, expected = numpy.asarray(found, numpy.float64), numpy.asarray(expected, numpy.float64)
    return numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected)
