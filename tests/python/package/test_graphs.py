"""Graphs that importers write, by the GraphBuilder of the compiler."""

import pytest

import smelt
from smelt._native import GraphBuilder, scalar_operations
from smelt.builder.nodes import FLAGS, WITHOUT_DERIVATIVE
from smelt.builder.sizes import Dim, broadcast_shapes, floor_div, kept_axes, product

T = Dim.symbol("T")


@pytest.fixture
def graph():
    return GraphBuilder()


def test_types_are_inferred(graph):
    x = graph.input("x", ("f32", (T, 3)))
    assert x == (0, "f32", (T, 3))
    assert graph.node("lt", [0, 0], {}, ()) == [(1, "bool", (T, 3))]
    assert graph.node("windows", [0], {"axis": 0, "size": 4, "step": 2}, ())[0][2] == (floor_div(T - 4, 2) + 1, 4, 3)


def test_text_has_what_the_results_need(graph):
    graph.input("x", ("f32", (T, 3)))
    graph.source = 'a "layer"'
    (unused,) = graph.node("exp", [0], {}, ())
    (total,) = graph.node("reduce add", [0], {"axes": [1]}, ())
    graph.node("slice", [unused[0]], {"axis": 0, "begin": T - 1}, [("f32", (1, 3))])
    assert graph.text("main", [("total", total[0])]) == (
        "graph @main(%x: f32[T,3]) {\n"
        '  %0 = reduce add %x "a \\"layer\\"" {axes = [1]} : f32[T]\n'
        "  return total = %0\n"
        "}\n"
    )


def test_equal_constants_are_one_node(graph):
    def constant(value, shape=(2,)):
        return graph.node("constant", [], {"value": value}, [("f32", shape)])[0][0]

    results = [("a", constant(1.0)), ("b", constant(1.0)), ("c", constant(2.0)), ("d", constant(1.0, (3,)))]
    assert graph.text("main", results).count("constant") == 3


def test_a_body(graph):
    for name in "qkv":
        graph.input(name, ("f32", (2, T, 4, 8)))
    bias = graph.input("bias", ("f32", (T,)))[0]
    body = GraphBuilder(graph, [("f32", (2, 4, T, T))])
    assert body.is_body and not graph.is_body
    ((score, _, shape),) = body.given()
    inside = body.argument(bias)[0]
    rows = body.node("broadcast", [inside], {"axes": [3]}, [("f32", shape)])[0][0]
    body.returns([body.node("add", [score, rows], {}, ())[0][0]])
    means, _ = graph.node("attention", [0, 1, 2], {"scale": 0.5}, (), body)
    text = graph.text("main", [("y", means[0])])
    assert "attention %q, %k, %v (%score, %a0 = %bias) {scale = 0.5} {" in text
    assert "%1 = add %score, %0 : f32[2,4,T,T]" in text
    with pytest.raises(smelt.Error, match="gets no more nodes"):
        body.node("exp", [score], {}, ())


@pytest.mark.parametrize(
    "operation,operands,attributes,types,message",
    [
        ("expp", [0], {}, (), "there is no operation 'expp'"),
        ("reduce all", [0], {}, (), "there is no reduction 'all'"),
        ("add", [0], {}, (), "add: 1 operands, expected 2"),
        ("add", [0, 7], {}, (), "the graph has 1 values, and no value 7"),
        ("scan", [0], {"axis": 0, "kind": "add", "exclusve": True}, (), "attribute 'exclusve' is not known"),
        ("transpose", [0], {"permutation": [0, 2]}, (), "transpose: "),
        ("exp", [0], {}, [("f32", (T, 4))], r"exp gives f32\[T,3\], which is not the type written"),
        ("convert", [0], {}, [("f31", (T, 3))], "there is no element type 'f31'"),
        ("constant", [], {"value": 2**70}, [("i64", ())], "does not fit 64 bits"),
    ],
)
def test_faults(graph, operation, operands, attributes, types, message):
    graph.input("x", ("f32", (T, 3)))
    with pytest.raises(smelt.Error, match=message):
        graph.node(operation, operands, attributes, types)


def test_facts_of_operations():
    rows = {name: facts for name, *facts in scalar_operations()}
    assert rows["exp"] == ["reals", False, True] and rows["logical_not"] == ["flags", True, False]
    assert rows["add"] == ["", False, True] and rows["lt"] == ["", True, False]
    assert {"eq", "logical_and"} <= FLAGS and "add" not in FLAGS
    assert {"sign", "floor", "stop_gradient", "lt"} <= WITHOUT_DERIVATIVE and "exp" not in WITHOUT_DERIVATIVE


def test_shapes():
    assert broadcast_shapes((T, 1), (3,), ()) == (T, 3) and broadcast_shapes() == ()
    assert product([2, T, T]) == 2 * T * T and product([]) == 1
    assert kept_axes((1, T, 3), (T, 1, 3)) == {1: 0, 2: 2} and kept_axes((2, 3), (3, 2)) is None
    with pytest.raises(smelt.Error, match="sizes T and 3 side by side, one known only when it runs"):
        broadcast_shapes((T,), (3,))
    with pytest.raises(smelt.Error, match="sizes 2 and 3 side by side, which do not broadcast"):
        broadcast_shapes((2, 1), (3, 1))
