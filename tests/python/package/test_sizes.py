"""Sizes of smelt/builder compute what whole numbers compute, and their bounds hold."""

import random

import pytest

from smelt.builder.sizes import Dim, bounds, ceil_div, extreme, floor_div, is_natural, quotient, value_of

RANGES = {("B",): (1, 9), ("T",): (2, 40), ("B", "T"): (1, 200)}
RUNS = [{"B": b, "T": t} for b in (1, 2, 5, 9) for t in (2, 3, 7, 22, 40) if b * t <= 200]
WAYS = {
    "+": lambda a, b, n: (a[0] + b[0], lambda run: a[1](run) + b[1](run)),
    "-": lambda a, b, n: (a[0] - b[0], lambda run: a[1](run) - b[1](run)),
    "*": lambda a, b, n: (a[0] * (b[0] if n < 4 else n), lambda run: a[1](run) * (b[1](run) if n < 4 else n)),
    "up": lambda a, b, n: (ceil_div(a[0], n), lambda run: -(-a[1](run) // n)),
    "down": lambda a, b, n: (floor_div(a[0], n), lambda run: a[1](run) // n),
    "max": lambda a, b, n: (extreme("max", (a[0], b[0]), RANGES), lambda run: max(a[1](run), b[1](run))),
}


def some_size(source, depth):
    """A size, and the function of the symbols that it stands for."""
    if depth == 0:
        name, number = source.choice("BT"), source.randint(-3, 5)
        return source.choice([(Dim.symbol(name), lambda run: run[name]), (number, lambda run: number)])
    a, b = (some_size(source, depth - 1) for _ in range(2))
    return WAYS[source.choice(list(WAYS))](a, b, source.randint(1, 6))


@pytest.mark.parametrize("seed", range(300))
def test_sizes_are_those_of_numbers(seed):
    size, expected = some_size(random.Random(seed), 3)
    low, high = bounds(size, RANGES)
    for run in RUNS:
        assert value_of(size, run) == expected(run), size
        assert low <= expected(run) <= high, size
    if is_natural(size, RANGES):
        assert min(map(expected, RUNS)) >= 0, size


def test_equal_sizes_have_one_form():
    t = Dim.symbol("T")
    assert floor_div(t + 1, 2) == ceil_div(t, 2) and str(ceil_div(t, 2)) == "ceil_div(T, 2)"
    assert ceil_div(ceil_div(t, 2), 3) == ceil_div(t, 6)
    assert floor_div(6 * t, 3) == 2 * t and t - t == 0
    assert quotient(6 * t * t, 2 * t) == 3 * t and quotient(t + 1, 2) is None
    assert str(2 * t - 3) == "2*T - 3" and str(-t) == "-T"
