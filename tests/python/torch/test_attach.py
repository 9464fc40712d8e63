"""Modules whose parameters lie in a session's memory."""

import copy
import gc

import pytest
import torch
from torch import nn

import smelt
import smelt.torch


class Tied(nn.Module):
    """Two layers of one weight."""

    def __init__(self, width=5):
        super().__init__()
        self.first, self.second = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.second.weight = self.first.weight

    def forward(self, x):
        return {"loss": self.second(torch.relu(self.first(x))).square().mean()}


SIZES = {"dynamic_shapes": {"x": {0: "B"}}, "max": {"B": 33}}


@pytest.fixture(scope="module")
def plan():
    rule = smelt.SGD(lr=0.1)
    return smelt.torch.compile_module(Tied(), {"x": torch.ones(3, 5)}, mode="train", optimizer=rule, **SIZES)


def batch(rows):
    return torch.randn(rows, 5, generator=torch.Generator().manual_seed(rows))


def test_steps_train_the_module_in_place(plan):
    module = copy.deepcopy(plan.module)
    other, weight = copy.deepcopy(module), module.first.weight
    session = plan.session().attach(module)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    for rows in (1, 3, 31):
        loss = other(batch(rows))["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert abs(session.step(x=batch(rows)).loss - loss.item()) <= 1e-5 * loss.item()
        assert torch.allclose(module.first.weight, other.first.weight, atol=1e-6)
    assert module.first.weight is weight is module.second.weight


def test_the_session_reads_what_the_module_writes(plan):
    module = copy.deepcopy(plan.module)
    session = plan.session().attach(module)
    with torch.no_grad():
        module.second.bias.fill_(2.0)
    expected = module(batch(3))["loss"].item()
    assert abs(session.step(x=batch(3)).loss - expected) <= 1e-5 * expected


def test_loading_weights_writes_to_the_module(plan):
    module = copy.deepcopy(plan.module)
    session = plan.session().attach(module)
    session.load_state_dict(Tied().state_dict() | {"second.bias": torch.arange(5.0)})
    assert torch.equal(module.second.bias, torch.arange(5.0))


def test_parameters_outlive_the_session(plan):
    module = copy.deepcopy(plan.module)
    expected = plan.module.first.weight.clone()
    plan.session().attach(module)
    gc.collect()
    assert torch.equal(module.first.weight, expected)


def test_a_detached_module_stays_as_it_is(plan):
    module = copy.deepcopy(plan.module)
    session = plan.session().attach(module).detach(module)
    session.step(x=batch(3))
    assert torch.equal(module.first.weight, plan.module.first.weight)
    assert module.first.weight.data_ptr() == module.second.weight.data_ptr()


def other_shape():
    return Tied(7)


BAD_MODULES = {
    "type": (lambda: Tied().bfloat16(), "'first.weight' is torch.bfloat16, the session has it in torch.float32"),
    "shape": (other_shape, r"'second.bias' is \[7\], the session has it as \[5\]"),
    "kind": (lambda: nn.Linear(5, 5), "has no first.weight"),
    "device": (lambda: Tied().to("meta"), r"call module.to\('cpu'\)"),
}


@pytest.mark.parametrize("name", BAD_MODULES)
def test_modules_that_do_not_fit_stay_as_they_are(plan, name):
    make, message = BAD_MODULES[name]
    module = make()
    before = [p.data_ptr() for p in module.parameters()] if name != "device" else []
    with pytest.raises(smelt.Error, match=message):
        plan.session().attach(module)
    assert before == ([p.data_ptr() for p in module.parameters()] if before else [])


def test_shared_weights_are_not_handed_out():
    plan = smelt.torch.compile_module(nn.Linear(4, 3), (torch.ones(2, 4),))
    session = plan.session()
    other = session.share()
    with pytest.raises(smelt.Error, match="several sessions"):
        session.attach()
    assert other.weights
