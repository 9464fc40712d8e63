"""Programs of which every operation has a row are imported as torch.export traces them."""

import pytest
import torch
import torch.nn.functional as F

import smelt
import smelt.torch


class Types(torch.nn.Module):
    """Conversions, which a program in evaluation has most often."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(8)
        self.register_buffer("frequencies", torch.arange(8.0))

    def forward(self, x):
        mask = (x > 0).to(torch.float32).to(x.device)
        scaled = x * self.frequencies.to(device=x.device, dtype=torch.float32)
        turned = torch.polar(torch.ones_like(x), x).to(torch.complex64)
        return self.norm(F.dropout(scaled, 0.5, self.training)) + mask.type_as(x) + turned.real.to(x)


def second_trace(*_, **__):
    raise AssertionError("the program was traced once more")


def test_conversions_and_layers_in_evaluation_are_not_traced_again(monkeypatch):
    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", second_trace)
    model, sample = Types().eval(), {"x": torch.randn(3, 8)}
    plan = smelt.torch.compile_module(model, sample, dynamic_shapes={"x": {0: "B"}}, max={"B": 8})
    x = torch.randn(5, 8)
    found = torch.from_dlpack(plan.session().run(x=x)["output"])
    torch.testing.assert_close(found, model(x).detach(), rtol=1e-5, atol=1e-5)


def test_real_parts_of_real_numbers():
    """Operations that have rows for complex numbers alone."""
    model, x = Function(lambda x: torch.real(x) + torch.conj_physical(x).resolve_conj()), torch.randn(3, 8)
    plan = smelt.torch.compile_module(model, {"x": x})
    torch.testing.assert_close(torch.from_dlpack(plan.session().run(x=x)["output"]), 2 * x)


def test_dropout_and_batch_norms_in_training_are_traced_again(monkeypatch):
    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", second_trace)
    for layer in (torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(8)):
        model = torch.nn.Sequential(layer, torch.nn.Linear(8, 1)).train()
        with pytest.raises(smelt.Error, match="once more"):
            smelt.torch.compile_module(
                Loss(model), {"x": torch.randn(3, 8)}, dynamic_shapes={"x": {0: "B"}}, max={"B": 8}, mode="train", loss="loss"
            )


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Loss(torch.nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x):
        return {"loss": self.part(x).mean()}
