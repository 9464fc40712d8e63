"""Remainders and floors of quotients of floats: exact for quotients of any size, as PyTorch's are."""

import math

import pytest
import torch

import smelt.torch

INF, NAN = math.inf, math.nan
LEFT = [1.0, 0.3, 5.3, -5.3, 1e6, 1e9, -1e9, 100.1, 7.0, 1e-40, 3e38, INF, 1.0, 0.0, 5.0, -0.0, 6.2831855, -1e-9, NAN, -7.0]
RIGHT = [0.1, 0.1, 0.1, 0.1, 0.1, 7.0, 7.0, 6.2831853, INF, 3.0, 1e-38, 2.0, 0.0, 0.0, -3.0, 3.0, 3.1415927, 3.0, 2.0, INF]


class Functions(torch.nn.Module):
    def forward(self, a, b):
        return {
            "fmod": torch.fmod(a, b),
            "remainder": a % b,
            "floor": a // b,
            "by a number": torch.remainder(a, 0.1),
            "by 4": torch.fmod(a, 4),
            "of a number": torch.fmod(torch.tensor(3.0), b),
        }


def exact(a, b):
    """The remainders in float64, where a remainder of floats is exact."""

    def fmod(x, y):
        return math.fmod(x, y) if math.isfinite(x) and y and y == y else NAN

    def remainder(x, y):
        r = fmod(x, y)
        return r + y if r and (r < 0) != (y < 0) else r

    tenth = float(torch.tensor(0.1))
    pairs = list(zip(a.double().tolist(), b.double().tolist()))
    found = {
        "fmod": [fmod(x, y) for x, y in pairs],
        "remainder": [remainder(x, y) for x, y in pairs],
        "by a number": [remainder(x, tenth) for x, _ in pairs],
        "by 4": [fmod(x, 4.0) for x, _ in pairs],
        "of a number": [fmod(3.0, y) for _, y in pairs],
    }
    return {name: torch.tensor(values, dtype=torch.float64).float() for name, values in found.items()}


def pairs_of(kind):
    if kind == "special":
        return torch.tensor(LEFT), torch.tensor(RIGHT)
    g = torch.Generator().manual_seed(0)
    a, b = (torch.randn(2000, generator=g) for _ in range(2))
    return (a * 1000, b) if kind == "near" else (a * 10 ** (30 * torch.rand(2000, generator=g) - 5), b * 1e-3)


@pytest.mark.parametrize("kind", ("special", "near", "far"))
def test_remainders_are_exact(kind):
    a, b = pairs_of(kind)
    found = smelt.torch.compile_module(Functions(), (a, b)).session().run(a=a, b=b)
    for name, expected in exact(a, b).items():
        assert torch.equal(found[name].nan_to_num(7.0), expected.nan_to_num(7.0)), name
    usual = (a / b).abs() < 2**24
    floors = torch.floor_divide(a, b)
    assert torch.equal(found["floor"][usual], floors[usual])
    assert torch.allclose(found["floor"], floors, 1e-6, equal_nan=True)


@pytest.mark.parametrize("function", (torch.fmod, torch.remainder))
def test_gradients_of_remainders(function):
    def gradients(run):
        a, b = torch.tensor([7.3, -7.3, 1e9, 2.0, 0.0]).requires_grad_(), torch.tensor([2.0, 2.0, -7.0, 0.1, 3.0]).requires_grad_()
        run(a, b).sum().backward()
        return a.grad, b.grad

    compiled = torch.compile(function, backend=smelt.torch.backend.smelt_backend)
    torch.testing.assert_close(gradients(compiled), gradients(function))
