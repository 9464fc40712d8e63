"""Sizes that a module keeps in small tensors and reads back, as codecs of sound and detectors do."""

import pytest
import torch
from conftest import relative
from torch import nn

import smelt
import smelt.torch


class WholeFrames(nn.Module):
    """A convolution that fills up its last frame: numbers of samples follow from buffers of integers."""

    def __init__(self, kernel, stride):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, kernel, stride=stride)
        self.register_buffer("kernel", torch.tensor(kernel), persistent=False)
        self.register_buffer("stride", torch.tensor(stride), persistent=False)
        self.register_buffer("padding", self.kernel - self.stride, persistent=False)

    def forward(self, x):
        frames = (x.shape[-1] - self.kernel + self.padding) / self.stride + 1
        whole = (torch.ceil(frames).to(torch.int64) - 1) * self.stride + self.kernel - self.padding
        return self.conv(nn.functional.pad(x, (self.padding, whole - x.shape[-1])))


class PlacesOfLevels(nn.Module):
    """Places in images of several sizes, which are kept in a table of heights and widths."""

    def forward(self, x):
        shapes = torch.stack([torch.tensor([x.shape[2] // k, x.shape[3] // k]) for k in (1, 2)])
        rows = [torch.arange(0, h.item(), device=x.device) / h for h, _ in shapes]
        return rows[0] + x.mean((0, 1, 3)), rows[1] * 2


class Places(nn.Module):
    """As many rows as the largest place in a table of places."""

    def __init__(self):
        super().__init__()
        self.row = nn.Parameter(torch.randn(1, 1, 5))

    def forward(self, x):
        places = torch.arange(x.shape[1]).unsqueeze(0).repeat(x.shape[0], 1)
        rows = self.row.repeat(x.shape[0], places.max() + 1, 1).cumsum(1)
        return x.unsqueeze(-1) * torch.gather(rows, 1, places.unsqueeze(-1).expand(-1, -1, 5))


class OfTheData(nn.Module):
    def forward(self, x):
        return x[:, : (x[0, 0] * 0 + x.shape[1]).long()]


@pytest.mark.parametrize("kernel,stride", [(7, 1), (8, 4), (3, 2), (5, 3)])
def test_sizes_that_follow_from_buffers(kernel, stride):
    torch.manual_seed(0)
    module = WholeFrames(kernel, stride).eval()
    dims = {"x": {0: "B", 2: torch.export.Dim("T", min=9)}}
    session = smelt.torch.compile_module(
        module, {"x": torch.randn(2, 3, 12)}, dynamic_shapes=dims, max={"B": 4, "T": 64}
    ).session()
    for size in ((1, 3, 9), (3, 3, 10), (2, 3, 31), (4, 3, 63), (4, 3, 64)):
        x = torch.randn(size)
        assert relative(session.run(x=x)["output"], module(x).detach()) <= 1e-6


def test_sizes_in_tables_of_sizes():
    module = PlacesOfLevels().eval()
    for height, width in ((8, 6), (10, 12)):
        x = torch.randn(2, 3, height, width)
        found = smelt.torch.compile_module(module, {"x": x}, dynamic_shapes={"x": {0: "B"}}, max={"B": 4}).session()
        for batch in (1, 3, 4):
            x = torch.randn(batch, 3, height, width)
            for own, expected in zip(found.run(x=x).values(), module(x)):
                assert relative(own, expected) <= 1e-6


def test_the_largest_place():
    module = Places()
    shapes = {"x": {0: "B", 1: torch.export.Dim("T", min=2)}}
    session = smelt.torch.compile_module(
        module, {"x": torch.randn(3, 7)}, dynamic_shapes=shapes, max={"B": 4, "T": 16}
    ).session()
    for size in ((1, 2), (3, 9), (4, 16)):
        x = torch.randn(size)
        assert relative(session.run(x=x)["output"], module(x).detach()) <= 1e-6


def test_what_depends_on_the_data_is_refused():
    with pytest.raises(smelt.Error, match="depends on the data"):
        smelt.torch.compile_module(
            OfTheData(), {"x": torch.randn(3, 8)}, dynamic_shapes={"x": {0: "B", 1: "T"}}, max={"B": 4, "T": 16}
        )
