"""Sizes that have a lower bound, and gradients of operations that move elements."""

import pytest
import torch
from conftest import relative
from torch import nn

import smelt
import smelt.torch
from smelt.torch.backend import BEHIND_DIFFERENTIATION
from smelt.torch.compile import compile_text, import_module


def test_a_least_size_that_is_given():
    torch.manual_seed(0)
    module, sample = nn.Conv1d(3, 4, 7, stride=2).eval(), torch.randn(2, 3, 12)
    dims = {"input": {0: "B", 2: torch.export.Dim("T", min=9)}}
    plan = smelt.torch.compile_module(module, {"input": sample}, dynamic_shapes=dims, max={"B": 4, "T": 40})
    assert "9 <= T <= 40" in plan.program.text
    session = plan.session()
    for size in ((1, 3, 9), (3, 3, 31), (4, 3, 40)):
        x = torch.randn(size)
        assert relative(session.run(input=x)["output"], module(x).detach()) <= 1e-6
    with pytest.raises(smelt.Error, match="T"):
        session.run(input=torch.randn(1, 3, 8))


class Tens(nn.Module):
    """Parts of ten elements, the last of them filled up: T + 4 is a multiple of 10."""

    def forward(self, x):
        return nn.functional.pad(x, (0, 4)).reshape(x.shape[0], -1, 10).sum(-1)


class Rounded(nn.Module):
    """Whole parts of ten elements, and a rest: T may be any number that has one."""

    def forward(self, x):
        return x[:, : x.shape[1] // 10 * 10].unfold(1, 10, 10).sum(-1)


@pytest.mark.parametrize("module,sizes,refused", [(Tens(), (6, 16, 46), 17), (Rounded(), (36, 45, 59), 101)])
def test_sizes_with_a_remainder(module, sizes, refused):
    dims = {"x": {0: "B", 1: "T"}}
    session = smelt.torch.compile_module(
        module, {"x": torch.randn(3, 36)}, dynamic_shapes=dims, max={"B": 4, "T": 100}
    ).session()
    for size in sizes:
        x = torch.randn(2, size)
        assert relative(session.run(x=x)["output"], module(x)) <= 1e-6
    with pytest.raises(smelt.Error, match="input 'x'|T"):
        session.run(x=torch.randn(2, refused))


class Ends(nn.Module):
    """The last places of a table, by sizes that are the larger of two: ALiBi is written so."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(1, 64))

    def forward(self, x):
        length = x.shape[1]
        return x + self.table[max(0, 1 - length) :, max(0, 64 - length) :]


def test_sizes_that_are_the_larger_of_two():
    module = Ends()
    session = smelt.torch.compile_module(
        module, {"x": torch.randn(3, 11)}, dynamic_shapes={"x": {0: "B", 1: "T"}}, max={"B": 4, "T": 64}
    ).session()
    for length in (1, 13, 64):
        x = torch.randn(2, length)
        assert relative(session.run(x=x)["output"], module(x).detach()) <= 1e-6


class Moves(nn.Module):
    """Its loss depends on how often, and where from, each element is taken."""

    def __init__(self):
        super().__init__()
        self.scale, self.conv = nn.Parameter(torch.randn(5, 9)), nn.Conv1d(5, 4, 3, padding=1)

    def forward(self, x):
        h = self.conv(x * self.scale).cumsum(-1)
        largest, in_order, written = h.topk(3, -1).values, h.sort(-1).values, h.clone()
        written[:, ::2] = largest[:, ::2, :1] * 2
        return {"loss": in_order[..., ::2].square().sum() + (largest**3).sum() + (written * h).sum()}


def test_gradients_of_what_moves_elements():
    torch.manual_seed(1)
    module, x = Moves(), torch.randn(3, 5, 9)
    program = import_module(module, {"x": x}, None, None, True, "loss")
    passes = f"differentiate{{output=loss_sum}},{BEHIND_DIFFERENTIATION}"
    session = compile_text(program.text, mode="infer", pipeline=passes, no_plan_cache=True).session(from_scratch=True)
    session.load_state_dict({name: tensor.detach() for name, tensor in program.parameters.items()})
    found = session.run("loss", x=x)
    module(x)["loss"].backward()
    for name, parameter in module.named_parameters():
        assert relative(torch.from_dlpack(found[f"grad.{name}"]), parameter.grad) <= 1e-5, name
