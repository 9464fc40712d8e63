"""Layers that are compiled in place, presets, and directories for the commands."""

import copy

import pytest
import torch
from torch import nn

import smelt
import smelt.torch


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Tower(nn.Module):
    def __init__(self, width=8, layers=3):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.square().mean()


def test_layers_in_place_train_as_before():
    torch.manual_seed(0)
    torch._dynamo.reset()
    model = Tower()
    other = copy.deepcopy(model)
    assert smelt.replace_layers(other, max={"B": 8, "T": 16}) == ["layers.0", "layers.1", "layers.2"]
    assert other.state_dict().keys() == model.state_dict().keys()
    for part in (model, other):
        optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
        for i in range(3):
            optimizer.zero_grad()
            part(torch.randn(3, 5 + i, 8, generator=torch.Generator().manual_seed(i))).backward()
            optimizer.step()
    for name, tensor in model.state_dict().items():
        assert torch.allclose(other.state_dict()[name], tensor, atol=1e-6), name


def test_a_model_without_layers():
    with pytest.raises(smelt.Error, match="name them"):
        smelt.replace_layers(nn.Linear(3, 3))


def test_presets():
    assert smelt.get_config("bert-base")["hidden"] == 768
    spec = smelt.get_config("gpt2", vocab_size=31, hidden=16, max_positions=8, decoder={"layers": 1, "heads": 2})
    plan = smelt.compile(spec, mode="infer", entry=["logits"], max={"B": 2, "T": 8})
    ids = torch.zeros(2, 5, dtype=torch.int32)
    assert plan.session(from_scratch=True).run(input_ids=ids)["logits"].shape == (2, 5, 31)
    with pytest.raises(smelt.Error, match="gpt2-xl"):
        smelt.get_config("gpt5")


def test_an_exported_directory_is_a_model(tmp_path):
    torch.manual_seed(0)
    module, sample = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 3)), torch.randn(3, 4)
    smelt.torch.export(module, {"input": sample}, tmp_path, dynamic_shapes={"input": {0: "B"}}, max={"B": 8})
    session = smelt.compile(tmp_path, mode="infer").session()
    x = torch.randn(7, 4)
    found = torch.from_dlpack(session.run("forward", input=x)["output"])
    assert torch.allclose(found, module(x), atol=1e-6)


def test_large_constants_are_frozen_parameters():
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.randn(100, 50, generator=torch.Generator().manual_seed(3))

        def forward(self, x):
            return x + self.table

    plan = smelt.torch.compile_module(Shifted(), (torch.ones(100, 50),))
    assert plan.program.constants and not plan.session().state_dict()
    assert torch.equal(plan.session().run(x=torch.zeros(100, 50))["output"], Shifted().table)


class MaskedOfOne(nn.Module):
    """One batch and one head, whose sizes do not change: the mask is computed again in the attention's body."""

    def forward(self, x, m):
        return nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=(m > 0) | (m < -1))


def test_a_computed_mask_of_one_head():
    torch.manual_seed(0)
    x, m = torch.randn(1, 1, 5, 8), torch.randn(5, 5)
    found = smelt.torch.compile_module(MaskedOfOne(), {"x": x, "m": m}).session().run(x=x, m=m)["output"]
    assert torch.allclose(found, MaskedOfOne()(x, m), atol=1e-5)


class InPlace(nn.Module):
    def forward(self, x):
        return torch.relu(x).add_(1.0)


@pytest.mark.parametrize("module,times", [(Tower(), 0), (nn.Sequential(nn.Linear(8, 8), InPlace()), 1), (nn.SELU(), 1)])
def test_a_program_of_operations_with_rows_is_traced_once(monkeypatch, module, times):
    calls, own = [], torch.export.ExportedProgram.run_decompositions
    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", lambda *given: calls.append(1) or own(*given))
    x = torch.randn(3, 5, 8)
    name = "x" if isinstance(module, Tower) else "input"
    plan = smelt.torch.compile_module(module, {name: x}, dynamic_shapes={name: {0: "B"}}, max={"B": 4}, no_plan_cache=True)
    found = plan.session().run(**{name: x})["output"]
    assert len(calls) == times
    torch.testing.assert_close(found, module(x), rtol=1e-5, atol=1e-5)
