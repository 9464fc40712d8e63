"""Sizes of smelt/builder compute what whole numbers compute, and their bounds hold."""

import math
import random

import numpy
import pytest

import smelt

from smelt.builder.sizes import Dim, Ranges, ceil_div, floor_div, quotient

RANGES = Ranges({("B",): (1, 9), ("T",): (2, 40), ("T", "B"): (1, 200)})
RUNS = [{"B": b, "T": t} for b in (1, 2, 5, 9) for t in (2, 3, 7, 22, 40) if b * t <= 200]
WAYS = {
    "+": lambda a, b, n: (a[0] + b[0], lambda run: a[1](run) + b[1](run)),
    "-": lambda a, b, n: (a[0] - b[0], lambda run: a[1](run) - b[1](run)),
    "*": lambda a, b, n: (a[0] * (b[0] if n < 4 else n), lambda run: a[1](run) * (b[1](run) if n < 4 else n)),
    "up": lambda a, b, n: (ceil_div(a[0], n), lambda run: -(-a[1](run) // n)),
    "down": lambda a, b, n: (floor_div(a[0], n), lambda run: a[1](run) // n),
    "max": lambda a, b, n: (RANGES.extreme("max", (a[0], b[0])), lambda run: max(a[1](run), b[1](run))),
}


def some_size(source, depth):
    """A size, and the function of the symbols that it stands for."""
    if depth == 0:
        name, number = source.choice("BT"), source.randint(-3, 5)
        return source.choice([(Dim.symbol(name), lambda run: run[name]), (number, lambda run: number)])
    a, b = (some_size(source, depth - 1) for _ in range(2))
    return WAYS[source.choice(list(WAYS))](a, b, source.randint(1, 6))


def value_of(size, run):
    if not isinstance(size, Dim):
        return size
    extremes = {name: RANGES.extreme_of(name)[1] for name in size.symbols() if RANGES.extreme_of(name)}
    return size.value(run | {name: max(value_of(each, run) for each in sizes) for name, sizes in extremes.items()})


@pytest.mark.parametrize("seed", range(300))
def test_sizes_are_those_of_numbers(seed):
    size, expected = some_size(random.Random(seed), 3)
    low, high = RANGES.of(size)
    for run in RUNS:
        assert value_of(size, run) == expected(run), size
        assert low <= expected(run) <= high, size
    if RANGES.is_natural(size):
        assert min(map(expected, RUNS)) >= 0, size


def test_equal_sizes_have_one_form():
    t = Dim.symbol("T")
    assert floor_div(t + 1, 2) == ceil_div(t, 2) and str(ceil_div(t, 2)) == "ceil_div(T, 2)"
    assert ceil_div(ceil_div(t, 2), 3) == ceil_div(t, 6)
    assert floor_div(6 * t, 3) == 2 * t and t - t == 0
    assert quotient(6 * t * t, 2 * t) == 3 * t and quotient(t + 1, 2) is None
    assert str(2 * t - 3) == "2*T - 3" and str(-t) == "-T"


def test_numbers_of_numpy_and_arrays_of_sizes():
    t = Dim.symbol("T")
    assert numpy.int64(2) + t == t + numpy.int64(2) and t - t == 0
    assert list(numpy.array([t, 3], object) * 2) == [2 * t, 6]
    assert list(t + numpy.arange(2)) == [t, t + 1]
    for other in (0.5, "T", None):
        with pytest.raises(TypeError):
            t * other


def test_faults():
    t = Dim.symbol("T")
    with pytest.raises(ValueError, match="T is not known to be a multiple of 2"):
        t // 2
    with pytest.raises(smelt.Error, match=r"the size T // B: a size is divided by numbers above 0 alone"):
        floor_div(t, Dim.symbol("B"))
    with pytest.raises(smelt.Error, match="does not fit 64 bits"):
        t * 2**63
    with pytest.raises(smelt.Error, match="the size 2\\*T needs a value for the symbol T"):
        (2 * t).value({"B": 1})


def test_ranges_beyond_64_bits_have_no_end():
    t, n = Dim.symbol("T"), Dim.symbol("N")
    ranges = Ranges({("T",): (1, 2**40), ("N",): (-math.inf, math.inf)})
    assert ranges.of(t * t) == (1, math.inf) and ranges.most(t * t) is None and ranges.most(t) == 2**40
    assert ranges.of(n - t) == (-math.inf, math.inf) and ranges.of(0 * n) == (0, 0)
    assert ranges.is_natural(t - 1) and not ranges.is_natural(n) and not ranges.is_natural(2**62 * t - 2**62 * ceil_div(t, 2**30))
