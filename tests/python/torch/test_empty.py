"""Sizes that may be 0: a cache of keys and values before the first token."""

import pytest
import torch
from torch import nn

import smelt
import smelt.torch


class Cached(nn.Module):
    """Attention over a cache and new tokens, which returns the longer cache."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(8, 24)

    def forward(self, x, keys, values):
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.linear(x).chunk(3, -1))
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        length, past = x.shape[1], keys.shape[2] - x.shape[1]
        seen = torch.arange(past + length)[None] <= torch.arange(length)[:, None] + past
        return nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=seen), keys, values


def inputs(batch, length, past):
    cache = {name: torch.randn(batch, 2, past, 4) for name in ("keys", "values")}
    return {"x": torch.randn(batch, length, 8), **cache}


def session_of(module, past):
    dims = {"x": {0: "B", 1: "T"}, "keys": {0: "B", 2: past}, "values": {0: "B", 2: past}}
    plan = smelt.torch.compile_module(module, inputs(2, 3, 5), dynamic_shapes=dims, max={"B": 4, "T": 16, "P": 32})
    return plan.session()


def test_an_empty_cache():
    module = Cached().requires_grad_(False)
    session = session_of(module, torch.export.Dim("P", min=0))
    for sizes in ((2, 3, 5), (1, 4, 0), (1, 1, 1), (3, 1, 32), (2, 16, 0), (1, 1, 0)):
        given = inputs(*sizes)
        for found, expected in zip(session.run(**given).values(), module(**given)):
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_a_name_is_at_least_one():
    with pytest.raises(smelt.Error, match="P = 0"):
        session_of(Cached(), "P").run(**inputs(1, 4, 0))


def test_numbers_of_no_elements():
    class Sums(nn.Module):
        def forward(self, x):
            return x.sum(1) + x.shape[1], x.mean(1), x.cumsum(1), (x > 0).any(1), x @ x.transpose(1, 2)

    module, dims = Sums(), {"x": {1: torch.export.Dim("T", min=0)}}
    session = smelt.torch.compile_module(module, torch.randn(2, 5, 4), dynamic_shapes=dims, max={"T": 9}).session()
    for length in (0, 1, 9):
        x = torch.randn(2, length, 4)
        for found, expected in zip(session.run(x=x).values(), module(x)):
            torch.testing.assert_close(found, expected, equal_nan=True)


def test_products_of_no_elements():
    class Products(nn.Module):
        def forward(self, x):
            return x.prod(1), x.prod(), x.prod(0), x.long().prod(1)

    x = torch.ones(2, 0)
    found = smelt.torch.compile_module(Products(), x).session().run(x=x)
    for one, expected in zip(found.values(), Products()(x)):
        assert torch.equal(one, expected)


class WithNoTokens(nn.Module):
    """A model whose extra tokens are none."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.extra = nn.Linear(4, 3), nn.Parameter(torch.empty(1, 0, 4))

    def forward(self, x):
        return {"loss": self.linear(torch.cat([self.extra.expand(x.shape[0], -1, -1), x], 1)).square().mean()}


def test_an_empty_parameter():
    module, x = WithNoTokens(), torch.randn(2, 5, 4)
    sizes = {"dynamic_shapes": {"x": {0: "B"}}, "max": {"B": 4}}
    found = smelt.torch.compile_module(module, x, **sizes).session().run(x=x)["loss"]
    assert torch.allclose(found, module(x)["loss"], rtol=1e-6)
    step = smelt.torch.compile_module(module, x, mode="train", **sizes).session()
    assert abs(step.step(x=x).loss - module(x)["loss"].item()) < 1e-6
    assert set(step.state_dict()) == set(module.state_dict())
