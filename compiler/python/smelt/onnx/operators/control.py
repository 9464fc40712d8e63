"""Branches whose condition is known, and loops whose number of turns is: they are written out."""

from __future__ import annotations

import numpy

from ..call import Known
from ..refusal import NeedsKnown, Refusal
from ..rows import row
from ..types import BOOL, INT64

MOST_TURNS = 1024


@row("If")
def if_(n):
    branch = "then_branch" if bool(n.number(0)) else "else_branch"
    return n.run(n.attribute(branch), [])


@row("Loop")
def loop(n):
    most = int(n.number(0)) if n.has(0) else MOST_TURNS
    goes_on = bool(n.number(1)) if n.has(1) else True
    body, state = n.attribute("body"), list(n.inputs[2:])
    n.refuse_unless(most <= MOST_TURNS or not goes_on, f"{most} turns, of which at most {MOST_TURNS} are written out")
    collected: list[list] = [[] for _ in body.output[1 + len(state) :]]
    turn = 0
    while goes_on and turn < most:
        n.refuse_unless(turn < MOST_TURNS, f"more than {MOST_TURNS} turns")
        given = [Known(numpy.array(turn), INT64), Known(numpy.array(True), BOOL)] + state
        condition, *found = n.run(body, given)
        if not isinstance(condition, Known):
            raise NeedsKnown(condition.inputs, "the condition of a loop")
        goes_on, turn = bool(condition.array), turn + 1
        state = found[: len(state)]
        for rows, each in zip(collected, found[len(state) :]):
            rows.append(each)
    return state + [stacked(n, rows, 0) for rows in collected]


def stacked(n, rows, axis):
    if not rows:
        raise Refusal("a loop without turns, whose results have no shape")
    kind = rows[0].element
    depends = frozenset().union(*(each.inputs for each in rows))
    if all(isinstance(each, Known) for each in rows):
        return Known(numpy.stack([each.array for each in rows], axis), kind, depends)
    parts = [n.b.unsqueeze(n.importer.lift(each), axis) for each in rows]
    return n.wrap(n.b.concat(parts, axis), kind)._replace(inputs=depends)


@row("Scan")
def scan(n):
    body, count = n.attribute("body"), n.attribute("num_scan_inputs")
    inputs = n.inputs
    if n.version < 9:
        return old_scan(n, body, count)
    states, scanned = list(inputs[:-count]), inputs[-count:]
    axes = n.attribute("scan_input_axes") or [0] * count
    backwards = n.attribute("scan_input_directions") or [0] * count
    found, collected = turns(n, body, states, scanned, axes, backwards)
    out_axes = n.attribute("scan_output_axes") or [0] * len(collected)
    out_back = n.attribute("scan_output_directions") or [0] * len(collected)
    return found + [
        stacked(n, rows[::-1] if back else rows, axis) for rows, axis, back in zip(collected, out_axes, out_back)
    ]


def turns(n, body, states, scanned, axes, backwards):
    length = scanned[0].shape[axes[0]]
    n.refuse_unless(isinstance(length, int) and length <= MOST_TURNS, f"{length} turns")
    collected: list[list] = [[] for _ in body.output[len(states) :]]
    for turn in range(length):
        parts = [
            at(n, each, axis, length - 1 - turn if back else turn) for each, axis, back in zip(scanned, axes, backwards)
        ]
        found = n.run(body, states + parts)
        states = found[: len(states)]
        for rows, each in zip(collected, found[len(states) :]):
            rows.append(each)
    return states, collected


def at(n, thing, axis, place):
    if isinstance(thing, Known):
        return thing._replace(array=numpy.take(thing.array, place, axis))
    x = n.importer.lift(thing)
    return thing._replace(value=n.b.squeeze(n.b.slice(x, axis, place, 1), axis))


def old_scan(n, body, count):
    """Of operator set 8, with a batch in front of everything."""
    n.refuse_unless(not n.has(0), "lengths of sequences")
    states, scanned = n.inputs[1:-count], n.inputs[-count:]
    results = []
    for row_ in range(scanned[0].shape[0]):
        own = [at(n, each, 0, row_) for each in states]
        parts = [at(n, each, 0, row_) for each in scanned]
        found, collected = turns(n, body, own, parts, [0] * count, n.attribute("directions") or [0] * count)
        results.append(found + [stacked(n, rows, 0) for rows in collected])
    return [stacked(n, list(each), 0) for each in zip(*results)]
