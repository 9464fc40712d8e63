"""Ensembles of decision trees: all trees of all rows go down a step at a time, by look-ups in tables of their nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy

from ..rows import ML, row
from ..tensors import array_of

COMPARISONS = ("le", "lt", "ge", "gt", "eq", "ne")
"""Comparisons by ONNX's number of the mode."""
MEMBER = len(COMPARISONS)
AVERAGE, SUM, LEAST, MOST = range(4)


class Node(NamedTuple):
    """`then`, `other`: the numbers of nodes, or of leaves behind all nodes."""

    feature: int
    mode: int
    split: float
    then: int
    other: int
    takes_nan: bool


def nodes_of(n):
    """Lists all nodes. The test for a set becomes one for each member, and goes on with the next one where it fails."""
    splits, modes = (array_of(n.attribute(name), name).tolist() for name in ("nodes_splits", "nodes_modes"))
    nan = n.attribute("nodes_missing_value_tracks_true") or [0] * len(modes)
    members = sets_of(n, modes)
    more = sum(len(each) - 1 for each in members.values())
    found, extra = [], []
    for i, feature in enumerate(n.attribute("nodes_featureids")):
        then, other = (target(n, way, i, len(modes) + more) for way in ("true", "false"))
        tests = [(4, number) for number in members[i]] if i in members else [(modes[i], splits[i])]
        for test in tests[:0:-1]:
            extra.append(Node(feature, *test, then, other, bool(nan[i])))
            other = len(modes) + len(extra) - 1
        found.append(Node(feature, *tests[0], then, other, bool(nan[i])))
    return found + extra


def target(n, way, i, nodes):
    place = n.attribute(f"nodes_{way}nodeids")[i]
    return nodes + place if n.attribute(f"nodes_{way}leafs")[i] else place


def sets_of(n, modes):
    """Members by node. They are listed in the order of the nodes, and NaN is behind each set."""
    own = [i for i, mode in enumerate(modes) if mode == MEMBER]
    if not own:
        return {}
    numbers = array_of(n.attribute("membership_values"), "membership_values")
    sets = numpy.split(numbers, numpy.flatnonzero(numpy.isnan(numbers)) + 1)
    n.refuse_unless(len(sets) == len(own) + 1, f"{len(sets) - 1} sets of members for {len(own)} nodes")
    n.refuse_unless(all(len(each) > 1 for each in sets[:-1]), "a set without members")
    return {i: each[:-1].tolist() for i, each in zip(own, sets)}


def depth_of(nodes, roots):
    """The number of steps to the deepest leaf."""
    steps, reached = 0, set(roots)
    while reached := {each for i in reached if i < len(nodes) for each in (nodes[i].then, nodes[i].other)}:
        steps += 1
        if steps > len(nodes):
            raise ValueError("a tree whose nodes go around in a circle")
    return steps


def step(b, x, nodes, leaves, state):
    """Goes from each node to the next one; leaves stay where they are."""
    ends = [len(nodes) + i for i in range(leaves)]

    def column(name, end, kind):
        numbers = [getattr(node, name) for node in nodes] + end
        return b.gather(b.operand(numpy.array(numbers, kind)), state, 0)

    feature = column("feature", [0] * leaves, numpy.int64)
    places = b.add(b.mul(b.iota(state.shape, 0), x.shape[1]), feature)
    number = b.gather(b.reshape(x, (x.shape[0] * x.shape[1],)), places, 0)
    split = column("split", [0] * leaves, numpy.float32)
    mode = column("mode", [0] * leaves, numpy.int64)
    holds = b.point("logical_and", b.point("ne", number, number), column("takes_nan", [False] * leaves, bool))
    for code in sorted({node.mode for node in nodes}):
        both = b.point("logical_and", b.point("eq", mode, code), b.point(COMPARISONS[code], number, split))
        holds = b.point("logical_or", holds, both)
    return b.select(holds, column("then", ends, numpy.int64), column("other", ends, numpy.int64))


@row("TreeEnsemble", domain=ML)
def tree_ensemble(n, x):
    b, roots = n.b, n.attribute("tree_roots")
    n.refuse_unless(n.attribute("post_transform", 0) == 0, "post_transform")
    nodes, weights = nodes_of(n), array_of(n.attribute("leaf_weights"), "leaf_weights").astype(numpy.float32)
    state = b.spread(b.operand(numpy.array(roots)), (x.shape[0], len(roots)))
    for _ in range(depth_of(nodes, roots)):
        state = step(b, x, nodes, len(weights), state)
    leaf = b.sub(state, len(nodes))
    weight = b.unsqueeze(b.gather(b.operand(weights), leaf, 0), -1)
    own = b.unsqueeze(b.gather(b.operand(numpy.array(n.attribute("leaf_targetids"))), leaf, 0), -1)
    hit = b.point("eq", own, b.iota((n.attribute("n_targets"),), 0))
    return gathered(n, hit, weight, n.attribute("aggregate_function", SUM), len(roots))


def gathered(n, hit, weight, how, trees):
    """The sum, mean, least or largest of the weights of each target."""
    b = n.b
    if how in (LEAST, MOST):
        most = float(numpy.finfo(numpy.float32).max) * (1 if how == LEAST else -1)
        return b.reduce("min" if how == LEAST else "max", b.select(hit, weight, most), [1])
    total = b.reduce("add", b.select(hit, weight, 0.0), [1])
    return b.div(total, float(trees)) if how == AVERAGE else total
