"""Indices that are no rows are errors, along each dim by itself, as in PyTorch."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import smelt
import smelt.torch

ONES = torch.ones(3, 2)


class Call(nn.Module):
    def __init__(self, function, shift):
        super().__init__()
        self.function, self.shift = function, shift

    def forward(self, x, i):
        return self.function(x, i + self.shift)


FROM_THE_END = {
    "x[a, b]": lambda x, i: x[torch.arange(2), i],
    "x[:, b]": lambda x, i: x[:, i],
    "x[a, b] = 5": lambda x, i: x.index_put((torch.arange(2), i), x[0, 0] * 0 + 5),
    "x[a, b] += 5": lambda x, i: x.index_put((torch.arange(2), i), x[0, 0] * 0 + 5, accumulate=True),
    "index_fill": lambda x, i: x.index_fill(1, i, 9.0),
    "take_along_dim": lambda x, i: torch.take_along_dim(x, i[None], 1),
}
FROM_THE_FRONT = {
    "gather": lambda x, i: x.gather(1, i[None]),
    "scatter": lambda x, i: x.scatter(1, i[None], ONES),
    "scatter of a number": lambda x, i: x.scatter(0, i[:, None] - 1, 7.0),
    "scatter_add": lambda x, i: x.scatter_add(1, i[None], ONES),
    "scatter_reduce": lambda x, i: x.scatter_reduce(1, i[None], ONES, "amax"),
    "index_select": lambda x, i: x.index_select(1, i),
    "index_add": lambda x, i: x.index_add(1, i, ONES),
    "index_copy": lambda x, i: x.index_copy(1, i, ONES),
    "index_reduce": lambda x, i: x.index_reduce(1, i, ONES, "amax"),
    "embedding": lambda x, i: functional.embedding(i, x.T),
    "one_hot": lambda x, i: functional.one_hot(i, 4),
    "nll_loss": lambda x, i: functional.nll_loss(x[:2], i, reduction="none"),
    "cross_entropy": lambda x, i: functional.cross_entropy(x[:2], i, reduction="none"),
}
CASES = {**FROM_THE_END, **FROM_THE_FRONT}


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_an_index_that_is_no_row_is_an_error(name, shift):
    """Of an input, whose numbers are looked at before the run, and of what is computed from it."""
    torch.manual_seed(0)
    x, module = torch.randn(3, 4), Call(CASES[name], shift).eval()
    session = smelt.torch.compile_module(module, (x, torch.tensor([1, 2]) - shift)).session()
    for right in ((1, 2), (2, 3), (-1, -4) if name in FROM_THE_END else (3, 1)):
        i = torch.tensor(right) - shift
        assert torch.allclose(torch.as_tensor(session.run(x=x, i=i)["output"]), module(x, i))
    for wrong in (4, -5, 7) if name in FROM_THE_END else (5, -1, 2**31 - 2):
        with pytest.raises(smelt.Error, match="out of bounds|expected an id|32 bits"):
            session.run(x=x, i=torch.tensor([1, wrong]) - shift)


def test_places_of_sizes_that_change():
    module = Call(lambda x, i: x[i, i + 1], 0)
    dims = {"x": {0: "N", 1: "C"}, "i": {0: "K"}}
    plan = smelt.torch.compile_module(
        module, (torch.randn(5, 6), torch.tensor([0, 2, 1])), dynamic_shapes=dims, max={"N": 8, "C": 9, "K": 8}
    )
    session = plan.session()
    for shape, i in (((5, 6), [4, 0]), ((3, 7), [-1, -3, 2]), ((8, 9), [7] * 8)):
        x, i = torch.randn(shape), torch.tensor(i)
        assert torch.equal(torch.as_tensor(session.run(x=x, i=i)["output"]), module(x, i))
    for shape, i in (((5, 6), [5]), ((5, 3), [2]), ((3, 7), [-4])):
        with pytest.raises(smelt.Error, match="out of bounds"):
            session.run(x=torch.randn(shape), i=torch.tensor(i))


def test_more_places_than_elements_are_an_error():
    class Filled(nn.Module):
        def forward(self, x, source):
            return x.masked_scatter(x > 0, source)

    source = torch.arange(4.0)
    session = smelt.torch.compile_module(Filled(), (torch.randn(3, 4), source)).session()
    x = -torch.ones(3, 4)
    x[1] = 1
    assert torch.equal(torch.as_tensor(session.run(x=x, source=source)["output"]), Filled()(x, source))
    with pytest.raises(smelt.Error, match="out of bounds"):
        session.run(x=torch.ones(3, 4), source=source)


class Joined(nn.Module):
    """Indices that are made in one tensor with those that they are made from, and looked up by others."""

    def __init__(self, width):
        super().__init__()
        self.rows, self.width = nn.Parameter(torch.randn(40, 4)), width

    def forward(self, x, i):
        order = x.argsort(1)
        return self.rows[torch.cat([order, order + 1], 1)[:, : self.width][i]]


@pytest.mark.parametrize("width", [5, 6, 8])
@pytest.mark.parametrize("dims", [{}, {"x": {0: "N"}, "i": {0: "K"}}])
def test_indices_next_to_those_that_they_are_made_from(width, dims):
    module, x, i = Joined(width), torch.randn(6, 4), torch.tensor([0, 3, 2])
    plan = smelt.torch.compile_module(module, (x, i), dynamic_shapes=dims, max={"N": 9, "K": 5} if dims else None)
    found = plan.session().run(x=x, i=i)["output"]
    assert torch.equal(torch.as_tensor(found), module(x, i))


def test_indices_in_reverse_order_as_operand_of_a_scan():
    """Rows of temporaries have gaps, of which nothing is known; a table of integers must have none."""

    class Next(nn.Module):
        def forward(self, i):
            places = torch.arange(i.shape[1]).expand(i.shape)
            return torch.cummin(torch.where(i > 3, places, i.shape[1]).flip(1), 1).values.flip(1) * 1.0

    shapes, most = {"i": {0: "B", 1: "T"}}, {"B": 4, "T": 32}
    plan = smelt.torch.compile_module(Next(), (torch.ones(2, 5).long(),), dynamic_shapes=shapes, max=most)
    for rows, length in ((3, 9), (3, 8), (4, 31)):
        i = torch.randint(0, 6, (rows, length))
        assert torch.equal(torch.as_tensor(plan.session().run(i=i)["output"]), Next()(i))
