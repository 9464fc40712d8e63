"""Sequences and optionals: they are taken apart when the model is compiled."""

from __future__ import annotations

import numpy

from ..call import Absent, Known, Many
from ..refusal import Refusal
from ..rows import row
from ..types import BOOL, INT64


def parts_of(n, index):
    thing = n.thing(index)
    if not isinstance(thing, Many):
        raise Refusal("no sequence")
    return list(thing.parts)


def many(n, parts):
    return Many(tuple(parts), frozenset().union(*(p.inputs for p in parts)) if parts else frozenset())


@row("SequenceConstruct")
def construct(n):
    return many(n, n.inputs)


@row("SequenceEmpty")
def empty(n):
    return Many(())


@row("SequenceAt")
def at(n):
    return parts_of(n, 0)[int(n.number(1))]


@row("SequenceInsert")
def insert(n):
    parts = parts_of(n, 0)
    place = int(n.number(2)) if n.has(2) else len(parts)
    parts.insert(place, n.thing(1))
    return many(n, parts)


@row("SequenceErase")
def erase(n):
    parts = parts_of(n, 0)
    parts.pop(int(n.number(1)) if n.has(1) else -1)
    return many(n, parts)


@row("SequenceLength")
def length(n):
    return Known(numpy.array(len(parts_of(n, 0)), numpy.int64), INT64)


@row("SplitToSequence")
def split(n, x):
    b = n.b
    axis = n.attribute("axis", 0) % len(x.shape)
    size, given = x.shape[axis], n.ints(1)
    each = given[0] if given and n.known(1).ndim == 0 else 1
    lengths = given if given and n.known(1).ndim else [min(each, size - i) for i in range(0, size, each)]
    drops = not n.has(1) and not n.attribute("keepdims", 1)
    parts, begin = [], 0
    for count in lengths:
        part = b.slice(x, axis, begin, count)
        parts.append(n.wrap(b.squeeze(part, axis) if drops else part, n.element(0)))
        begin += count
    return many(n, parts)


@row("ConcatFromSequence")
def concat(n):
    b, parts = n.b, parts_of(n, 0)
    axis = n.attribute("axis")
    values = [n.importer.lift(part) for part in parts]
    if n.attribute("new_axis", 0):
        values = [b.unsqueeze(value, axis) for value in values]
    return n.wrap(b.concat(values, axis), parts[0].element)


@row("SequenceMap")
def sequence_map(n):
    count = len(parts_of(n, 0))
    turns = []
    for i in range(count):
        given = [thing.parts[i] if isinstance(thing, Many) else thing for thing in n.inputs]
        turns.append(n.run(n.attribute("body"), given))
    return [many(n, each) for each in zip(*turns)] if turns else [Many(()) for _ in n.node.output]


@row("Optional")
def optional(n):
    return n.thing(0) if n.has(0) else Absent()


@row("OptionalHasElement")
def has_element(n):
    held = n.has(0) and not isinstance(n.thing(0), Absent)
    return Known(numpy.array(held), BOOL)


@row("OptionalGetElement")
def get_element(n):
    if isinstance(n.thing(0), Absent):
        raise Refusal("the element of an optional that holds none")
    return n.thing(0)
