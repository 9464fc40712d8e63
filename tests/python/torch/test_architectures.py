"""Hugging Face's models against PyTorch: outputs at other sizes than those traced, gradients, and training."""

import sys

import torch
from conftest import relative

import smelt
import smelt.torch
from smelt.torch.backend import BEHIND_DIFFERENTIATION
from smelt.torch.compile import compile_text, import_module

TOLERANCE = 1e-5
SIZES = ((5, 17), (1, 7), (2, 24))
SAMPLE = (3, 11)


def bounds(chosen):
    return {"B": 6, "T": 900 if chosen.inputs == "speech" else 24}


def test_outputs(chosen, record_property):
    model, sample = chosen.make(), chosen.batch(*SAMPLE)
    plan = smelt.torch.compile_module(
        model, sample, dynamic_shapes=chosen.dynamic_shapes(sample), max=bounds(chosen), no_plan_cache=True
    )
    session, largest = plan.session(), 0.0
    for size in SIZES:
        batch = chosen.batch(*size)
        with torch.no_grad():
            expected = model(**batch)
        found = session.run(**batch)
        compared = [name for name, tensor in found.items() if tensor.is_floating_point() and name in expected]
        assert compared
        for name in compared:
            error = relative(found[name], expected[name])
            assert error <= TOLERANCE, (name, size)
            largest = max(largest, error)
    record_property("error", f"{largest:.1e}")


def test_gradients_and_training(chosen, record_property, monkeypatch):
    """Both of one trace, which takes most of the time."""
    model, sample = chosen.make().train(), chosen.batch(*SAMPLE, labels=True)
    program = import_module(model, sample, chosen.dynamic_shapes(sample), bounds(chosen), True, "loss", decay_all=True)
    record_property("error of gradients", f"{error_of_gradients(chosen, model, program):.1e}")
    monkeypatch.setattr(sys.modules[import_module.__module__], "import_module", lambda *_, **__: program)
    plan = smelt.torch.compile_module(
        model,
        sample,
        dynamic_shapes=chosen.dynamic_shapes(sample),
        max=bounds(chosen),
        mode="train",
        optimizer=smelt.AdamW(weight_decay=0.01),
        entry=["train_step"],
        no_plan_cache=True,
    )
    session, optimizer = plan.session(), torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    largest = 0.0
    for i in range(10):
        rows = SAMPLE[0] if chosen.static_loss else 2 + i % 4
        batch = chosen.batch(rows, 9 + i, labels=True)
        found = session.step(lr=1e-3, **tensors_of(batch)).loss
        expected = torch_step(model, optimizer, batch)
        error = abs(found - expected) / abs(expected)
        assert error <= TOLERANCE, i
        largest = max(largest, error)
    record_property("error", f"{largest:.1e}")
    model.load_state_dict(session.state_dict())


def tensors_of(batch):
    return {name: value for name, value in batch.items() if isinstance(value, torch.Tensor)}


def torch_step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    return loss.item()


def error_of_gradients(chosen, model, program):
    """Of all as one vector; those of the sum of losses are the mean's times the number of targets."""
    passes = f"differentiate{{output=loss_sum}},{BEHIND_DIFFERENTIATION}"
    session = compile_text(program.text, mode="infer", pipeline=passes, no_plan_cache=True).session(from_scratch=True)
    session.load_state_dict({name: tensor.detach() for name, tensor in program.parameters.items()})
    batch = chosen.batch(SAMPLE[0] if chosen.static_loss else 4, 13, labels=True)
    found = session.run("loss", **tensors_of(batch))
    model(**batch).loss.backward()
    count = float(found["token_count"])
    names = [n for n, p in model.named_parameters() if p.grad is not None and f"grad.{n}" in found]
    assert len(names) > 5
    gradients = torch.cat([torch.from_dlpack(found[f"grad.{name}"]).flatten() / count for name in names])
    expected = torch.cat([model.get_parameter(name).grad.flatten() for name in names])
    error = relative(gradients, expected)
    assert error <= TOLERANCE
    return error
