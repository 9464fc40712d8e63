"""Models with faults: a result is the reference's, and anything else is one smelt.Error that says where the fault is.

    python tests/python/onnx/test_mutations.py [count] [seed]      # as many as there is time for
"""

import collections
import functools
import random
import re
import sys
import warnings

import numpy
import onnx
from onnx import helper, parser, reference

import models
import mutations
import smelt
import smelt.onnx
from smelt.onnx import conformance

COUNT = 300
MOST = 2**16
"""Elements of an input that is drawn."""

OTHERWISE = {"Cast", "CastLike", "Loop"}
"""Floats outside of an integer's type become no certain number, and onnx's reference gives what loops collect one axis
too many where it is of single numbers."""
NEW_IN_REFERENCE = {"Softmax", "LogSoftmax", "Hardmax"}
"""Which onnx's reference does not compute by the rules of older operator sets."""

HANDMADE = {
    "branches": """<ir_version: 10, opset_import: ["" : 20]>
        m (float[3] x, bool c) => (float[3] r)
        { r = If (c) <then_branch = t () => (float[3] y) { y = Neg (x) }, else_branch = e () => (float[3] w) { w = Abs (x) }> }""",
    "turns": """<ir_version: 10, opset_import: ["" : 20]>
        m (float[3] x) => (float[3] r, float[2,3] all) <int64 count = {2}, bool on = {1}>
        { r, all = Loop <body = turn (int64 t, bool go, float[3] before) => (bool again, float[3] after, float[3] shown)
          { again = Identity (go)
            after = Add (before, x)
            shown = Mul (after, after) }> (count, on, x) }""",
    "shapes": """<ir_version: 10, opset_import: ["" : 20]>
        m (float[2,N,4] x) => (float r) <int64[1] last = {-1}, int64 one = {1}, int64[1] zero = {0}>
        { s = Shape (x)
          n = Gather (s, one)
          v = Unsqueeze (n, zero)
          w = Concat <axis = 0> (v, last)
          y = Reshape (x, w)
          r = Softmax <axis = -1> (y) }""",
    "own": """<ir_version: 10, opset_import: ["" : 20, "own" : 1]>
        m (float[3] x) => (float[3] r) { r = own.twice <by = 3.0> (x) }
        <domain: "own", opset_import: ["" : 20]>
        twice <by> (a) => (c) { f = Constant <value_float : float = @by> ()
        c = Mul (a, f) }""",
}


@functools.cache
def seeds():
    """(name, model, inputs) of models that are right."""
    found = [(case.name, case.model, list(case.data_sets[0][0])) for case in conformance.cases()]
    handmade = [(name, parser.parse_model(text), []) for name, text in HANDMADE.items()]
    return found, handmade + [("encoder", models.encoder(), [])]


def drawn_inputs(model, given, draw):
    """Those of the case where they still fit; else others of the declared types and sizes, or None."""
    known = {}
    for port, value in zip(model.graph.input, given):
        value = conformance.plain(value)
        if isinstance(value, numpy.ndarray):
            known[port.name] = value
    weights = {tensor.name for tensor in model.graph.initializer}
    return {port.name: _drawn(port, known.get(port.name), draw) for port in model.graph.input if port.name not in weights}


def _drawn(port, known, draw):
    tensor = port.type.tensor_type
    sizes = [dim.dim_value if dim.HasField("dim_value") else 2 for dim in tensor.shape.dim]
    try:
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    except KeyError:
        dtype = numpy.dtype(numpy.float32)
    if known is not None and known.dtype == dtype and list(known.shape) == sizes:
        return known
    if any(size < 0 for size in sizes) or numpy.prod(sizes, dtype=object) > MOST:
        sizes = [1] * len(sizes)
    return numpy.random.default_rng(draw.randrange(2**32)).integers(0, 3, sizes).astype(dtype)


def outcome(name, model, given, draw):
    """("refused" | "equal" | "no reference" | a fault, what was said)."""
    inputs = drawn_inputs(model, given, draw)
    bounds = {size: 4 for size in smelt.onnx.model.sizes_of(model)}
    try:
        compiled = smelt.onnx.compile_model(model, max=bounds, sizes=inputs, doubles=True, no_plan_cache=True)
        session = compiled.session(threads=1, **({"from_scratch": True} if compiled.plan and not compiled.plan.weights else {}))
        found = session.run(inputs)
    except smelt.Error as error:
        return ("refused" if names_the_place(str(error), model) else "nameless"), str(error)
    except Exception as error:
        return "raw", f"{type(error).__name__}: {error}"
    return compared(model, inputs, found)


def names_the_place(message, model):
    nodes = [node for graph in _graphs(model.graph) for node in graph.node]
    nodes += [node for function in model.functions for node in function.node]
    names = {n for node in nodes for n in (node.name, node.op_type, *node.output)}
    names |= {port.name for port in (*model.graph.input, *model.graph.output, *model.graph.initializer)}
    quoted = words_of(message)
    return len(message) < 1000 and ("operator set" in message or "no outputs" in message or any(n in quoted or repr(n)[1:-1] in quoted for n in names if n))


def words_of(message):
    """What it quotes, and the operator that it is about."""
    return set(re.findall(r"['\"]([^'\"]*)['\"]", message)) | set(re.findall(r"operator (?:[a-z.]+\.)?(\w+)", message))


def _graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == attribute.GRAPH:
                yield from _graphs(attribute.g)


def compared(model, inputs, found):
    try:
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = reference.ReferenceEvaluator(model).run(None, inputs)
    except Exception:  # it takes no such model
        return "no reference", ""
    if any(node.op_type in OTHERWISE for node in model.graph.node):
        return "no reference", ""
    old = any(o.domain in ("", "ai.onnx") and o.version < 13 for o in model.opset_import)
    if old and any(node.op_type in NEW_IN_REFERENCE for node in model.graph.node):
        return "no reference", ""
    for port, one in zip(model.graph.output, expected):
        if one is None:
            continue
        fault = conformance.difference(found[port.name], one if isinstance(one, list) else numpy.asarray(one), 1e-2, 1e-4)
        if fault:
            return "wrong", f"{port.name}: {fault}"
    return "equal", ""


def tried(number, seed):
    """The mutation of this number, whatever came before it."""
    draw = random.Random(f"{seed}.{number}")
    cases, handmade = seeds()
    name, model, given = draw.choice(handmade if draw.random() < 0.2 else cases)
    changed, done = mutations.mutated(model, draw)
    return name, done, changed, *outcome(name, changed, given, draw)


def test_faults_are_refused_or_harmless():
    found = [tried(number, 1) for number in range(COUNT)]
    kinds = collections.Counter(kind for *_, kind, _ in found)
    bad = [(n, name, done, kind, said) for n, (name, done, _, kind, said) in enumerate(found) if kind in BAD]
    assert bad == [] and kinds["refused"] > COUNT / 3 and kinds["equal"] > COUNT / 20


BAD = ("raw", "nameless", "wrong")


def main(count=3000, seed=7):
    kinds = collections.Counter()
    for number in range(count):
        with open("/tmp/smelt-mutation", "w") as file:  # the last one, should the interpreter die
            file.write(f"{seed}.{number}")
        name, done, _, kind, said = tried(number, seed)
        kinds[kind] += 1
        if kind in BAD:
            print(f"{number} {name} {done}: {kind}: {said[:400]}", flush=True)
    print(dict(kinds))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
