"""Parts of a length that may change: halves, chunks and remainders, of even and odd lengths, down to empty parts."""

import pytest
import torch
from torch import nn

import smelt
import smelt.torch
from smelt.builder.sizes import floor_div
from smelt.torch.dims import Sizes
from torch.utils._sympy.functions import FloorDiv
from torch.utils._sympy.value_ranges import ValueRanges

LENGTHS = (1, 2, 3, 5, 6, 7, 8, 13, 32)


def half(x):
    return x[:, : x.shape[1] // 2]


def second_half(x):
    return x[:, x.shape[1] // 2 :]


def rotated(x):
    half = x.shape[1] // 2
    return torch.cat([x[:, half:], x[:, :half]], 1)


def half_rounded_up(x):
    return x[:, : (x.shape[1] + 1) // 2]


def split_in_two(x):
    half = x.shape[1] // 2
    first, second = x.split([half, x.shape[1] - half], 1)
    return torch.cat([second, first], 1)


def numbers_of_halves(x):
    half = x.shape[1] // 2
    return x[:, :half].sum(1) + x[:, half:].mean(1) + half


def mean_of_half(x):
    return x[:, : x.shape[1] // 2].mean(1)


def any_of_half(x):
    return (x[:, : x.shape[1] // 2] == x[:, : x.shape[1] // 2]).any(1)


def softmax_of_half(x):
    return x[:, : x.shape[1] // 2].softmax(1)


def product_of_half(x):
    part = x[:, : x.shape[1] // 2]
    return part.transpose(1, 2) @ part


def every_third(x):
    return x[:, ::3]


def filled_up(x):
    return nn.functional.pad(x, (0, 0, 0, -x.shape[1] % 4))


def tensor_split(x):
    return torch.cat(x.tensor_split(3, 1)[::-1], 1)


class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def session_of(function, length):
    dims = {"x": {0: "B", 1: "T"}}
    sample = {"x": torch.randn(2, length, 4)}
    return smelt.torch.compile_module(Of(function), sample, dynamic_shapes=dims, max={"B": 3, "T": 32}).session()


@pytest.mark.parametrize("sample", (6, 7))
@pytest.mark.parametrize(
    "function",
    (half, second_half, rotated, half_rounded_up, split_in_two, numbers_of_halves, mean_of_half,
     any_of_half, softmax_of_half, product_of_half, every_third, filled_up, tensor_split),
)  # fmt: skip
def test_parts_of_every_length(function, sample):
    session = session_of(function, sample)
    for length in LENGTHS:
        x = torch.randn(2, length, 4)
        torch.testing.assert_close(session.run(x=x)["output"], function(x), equal_nan=True)


def halves(x):
    first, second = x.chunk(2, 1)
    return torch.cat([second, first], 1)


def thirds(x):
    first, second, third = torch.chunk(x, 3, dim=1)
    return torch.cat([third, first, second], 1)


def fours(x):
    first, second = x.split(4, 1)
    return torch.cat([second, first], 1)


@pytest.mark.parametrize("function,refused", [(halves, (1,)), (thirds, (1, 2, 4)), (fours, (1, 4, 9, 32))])
def test_as_many_parts_as_the_sample(function, refused):
    session = session_of(function, 7)
    for length in set(LENGTHS) - set(refused):
        x = torch.randn(2, length, 4)
        if function is fours and not 4 < length <= 8:
            continue
        torch.testing.assert_close(session.run(x=x)["output"], function(x))
    for length in refused:
        with pytest.raises(smelt.Error, match=f"T = {length}"):
            session.run(x=torch.randn(2, length, 4))


def test_the_order_of_sizes_and_their_parts():
    import sympy

    t = sympy.Symbol("t", integer=True, positive=True)
    sizes = Sizes({t: "T"}, {t: ValueRanges(1, 32)}, {})
    length = sizes.of(t)
    half, up = floor_div(length, 2), floor_div(length + 1, 2)
    for larger, smaller in ((length, half), (length, up), (up, half), (up, 1)):
        assert sizes.ranges.is_natural(larger - smaller)
    assert not sizes.ranges.is_natural(half - 1)
    assert sizes.of(sympy.Max(0, t - FloorDiv(t, 2))) == length - half
    assert str(floor_div(-length, 4)) == "-ceil_div(T, 4)"
