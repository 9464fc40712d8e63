"""Complex numbers inside a module, as pairs of real ones: rotary embeddings written with them, and arithmetic."""

import pytest
import torch
from conftest import relative
from torch import nn

import smelt
import smelt.torch


class Rotary(nn.Module):
    """As DeepSeek and Llama 4 have it, with a table of complex numbers or angles that are computed."""

    def __init__(self, table):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(8, 8)
        self.frequencies = 1 / 100 ** (torch.arange(4) / 4)
        angles = torch.outer(torch.arange(64), self.frequencies)
        self.register_buffer("table", torch.polar(torch.ones_like(angles), angles) if table else None)

    def forward(self, x):
        length = x.shape[1]
        if self.table is None:
            with torch.no_grad():
                angles = torch.outer(torch.arange(length), self.frequencies)
                turn = torch.polar(torch.ones_like(angles), angles) * 1.5
        else:
            turn = self.table[:length]
        pairs = torch.view_as_complex(self.linear(x).float().reshape(*x.shape[:-1], -1, 2))
        turned = torch.view_as_real(pairs * turn.unsqueeze(0)).flatten(-2)
        return {"y": turned, "loss": (turned * x).square().mean()}


@pytest.mark.parametrize("table", (True, False))
def test_rotary_embeddings(table):
    module, dims, bounds = Rotary(table), {"x": {0: "B", 1: "T"}}, {"B": 3, "T": 64}
    sample = {"x": torch.randn(2, 6, 8)}
    session = smelt.torch.compile_module(module, sample, dynamic_shapes=dims, max=bounds).session()
    training = smelt.torch.compile_module(
        module, sample, dynamic_shapes=dims, max=bounds, mode="train", optimizer=smelt.SGD()
    ).session()
    for size in ((1, 1, 8), (3, 17, 8), (2, 64, 8)):
        x = torch.randn(size)
        assert relative(session.run(x=x)["y"], module(x)["y"].detach()) <= 1e-6
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for length in (5, 1, 33):
        x = torch.randn(2, length, 8)
        optimizer.zero_grad()
        loss = module(x)["loss"]
        loss.backward()
        optimizer.step()
        assert training.step(x=x, lr=0.1).loss == pytest.approx(float(loss.detach()), rel=1e-5)


def quotient(a, b):
    return a / b


def quotient_of_real(a, b):
    return 2.0 / a - b / 3


def conjugate(a, b):
    return a * b.conj() - 2j * a


def sizes(a, b):
    return torch.complex(a.abs(), b.imag) + a.real


def moved(a, b):
    return torch.cat([a.transpose(1, 2)[:, :, 1:], torch.stack([a, b])[1].permute(0, 2, 1).flip(-1)], 2)


def picked(a, b):
    return torch.where(a.real > 0, a, b)[:, torch.tensor([2, 0])]


def products(a, b):
    return a @ b.transpose(1, 2) + (a.unsqueeze(1) * b.unsqueeze(2)).sum((-1))


def sums(a, b):
    return a.sum(1, keepdim=True) * b + torch.exp(1j * a.real) - b**3


@pytest.mark.parametrize(
    "function", (quotient, quotient_of_real, conjugate, sizes, moved, picked, products, sums)
)
def test_arithmetic(function):
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4, 2))

        def forward(self, x, y):
            result = function(torch.view_as_complex(x * self.weight), torch.view_as_complex(y))
            parts = torch.view_as_real(result.resolve_conj())
            return {"y": parts, "loss": (parts * 0.5).square().mean()}

    torch.manual_seed(0)
    module, dims = Module(), {name: {0: "B"} for name in "xy"}
    x, y = torch.randn(2, 3, 4, 2), torch.randn(2, 3, 4, 2)
    plan = smelt.torch.compile_module(module, {"x": x, "y": y}, dynamic_shapes=dims, max={"B": 4})
    assert relative(plan.session().run(x=x, y=y)["y"], module(x, y)["y"].detach()) <= 1e-6
    session = smelt.torch.compile_module(
        module, {"x": x, "y": y}, dynamic_shapes=dims, max={"B": 4}, mode="train", optimizer=smelt.SGD()
    ).session()
    loss = module(x, y)["loss"]
    loss.backward()
    assert session.step(x=x, y=y, lr=1.0).loss == pytest.approx(float(loss.detach()), rel=1e-5)
    assert relative(session.state_dict()["weight"], (module.weight - module.weight.grad).detach()) <= 1e-5


def test_what_stays_refused():
    class Output(nn.Module):
        def forward(self, x):
            return torch.view_as_complex(x)

    class Angle(nn.Module):
        def forward(self, x):
            return torch.view_as_complex(x).angle()

    with pytest.raises(smelt.Error, match="output 'output' is complex"):
        smelt.torch.compile_module(Output(), {"x": torch.randn(3, 2)})
    with pytest.raises(smelt.Error, match="uses what Smelt cannot do"):
        smelt.torch.compile_module(Angle(), {"x": torch.randn(3, 2)})


TRANSFORMS = {
    "all of two dims": lambda x: torch.fft.fftn(x, dim=(1, 2)).real,
    "back": lambda x: torch.fft.ifft(x, dim=1, norm="forward").imag,
    "half": lambda x: torch.view_as_real(torch.fft.rfft(x, dim=1, norm="ortho")),
    "half of two dims": lambda x: torch.view_as_real(torch.fft.rfft2(x)),
    "back from half": lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=1) * (1 + 2j), n=x.shape[1], dim=1),
    "back from half of two dims": lambda x: torch.fft.irfft2(torch.fft.rfft2(x), s=x.shape[1:]),
}


class Transformed(nn.Module):
    def __init__(self, transform):
        super().__init__()
        torch.manual_seed(0)
        self.weight, self.transform = nn.Parameter(torch.randn(6)), transform

    def forward(self, x):
        y = self.transform(x * self.weight)
        return {"y": y, "loss": y.square().mean()}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_fourier_transforms(name):
    module, dims, bounds = Transformed(TRANSFORMS[name]), {"x": {0: "B", 1: "T"}}, {"B": 3, "T": 32}
    sample = {"x": torch.randn(2, 7, 6)}
    session = smelt.torch.compile_module(module, sample, dynamic_shapes=dims, max=bounds).session()
    for size in ((3, 12, 6), (2, 31, 6)):
        x = torch.randn(size)
        assert relative(session.run(x=x)["y"], module(x)["y"].detach()) <= 2e-6
    training = smelt.torch.compile_module(module, sample, mode="train", optimizer=smelt.SGD()).session()
    module(**sample)["loss"].backward()
    training.step(**sample, lr=1.0)
    found = module.weight.detach() - torch.as_tensor(training.state_dict()["weight"])
    assert relative(found, module.weight.grad) <= 1e-5
