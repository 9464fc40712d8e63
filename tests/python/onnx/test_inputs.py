"""Inputs that are sequences or optionals, and sizes that a sample of the inputs has."""

import numpy
import pytest
from onnx import TensorProto, helper

import smelt
import smelt.onnx

FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
SEQUENCE = helper.make_sequence_type_proto(FLOATS)


def model_of(nodes, inputs, results):
    ports = [[helper.make_value_info(name, kind) for name, kind in each.items()] for each in (inputs, results)]
    sets = [helper.make_opsetid("", 21)]
    return helper.make_model(helper.make_graph(nodes, "g", *ports), opset_imports=sets, ir_version=10)


@pytest.fixture
def joined():
    """The parts of a sequence one after the other, and how many there are."""
    nodes = [
        helper.make_node("ConcatFromSequence", ["x"], ["y"], axis=0),
        helper.make_node("SequenceLength", ["x"], ["n"]),
    ]
    return model_of(nodes, {"x": SEQUENCE}, {"y": FLOATS, "n": helper.make_tensor_type_proto(TensorProto.INT64, [])})


def parts(*lengths):
    draw = numpy.random.default_rng(len(lengths))
    return [draw.normal(size=(length, 3)).astype(numpy.float32) for length in lengths]


def test_a_sequence_is_of_the_sizes_of_the_sample(joined):
    model = smelt.onnx.compile_model(joined, sizes={"x": parts(2, 1, 33)}, no_plan_cache=True)
    assert model.inputs == {"x": [("FLOAT", (2, 3)), ("FLOAT", (1, 3)), ("FLOAT", (33, 3))]} and not model.frozen
    given = [part + 1 for part in parts(2, 1, 33)]  # other numbers than those of the sample
    found = model.session(from_scratch=True).run({"x": given})
    numpy.testing.assert_array_equal(found["y"], numpy.concatenate(given))
    assert found["n"] == 3


@pytest.mark.parametrize("given", [parts(2, 1), parts(2, 2), [], None, [parts(2)[0], None]])
def test_a_sequence_of_other_sizes_is_an_error(joined, given):
    model = smelt.onnx.compile_model(joined, sizes={"x": parts(2, 1, 4)}, no_plan_cache=True)
    session = model.session(from_scratch=True)
    with pytest.raises(smelt.Error, match="x"):
        session.run({"x": given})


def test_a_sequence_without_a_sample_is_refused(joined):
    with pytest.raises(smelt.onnx.Refusal, match="whose sequence sets sizes: give sizes={'x': ...}"):
        smelt.onnx.compile_model(joined)


def test_a_sample_of_another_type_is_refused(joined):
    with pytest.raises(smelt.onnx.Refusal, match="a dict, expected a list"):
        smelt.onnx.compile_model(joined, sizes={"x": {}})
    with pytest.raises(smelt.Error, match=r"x\[0\].*float64"):
        smelt.onnx.compile_model(joined, sizes={"x": [numpy.zeros((2, 3))]}, no_plan_cache=True).session(
            from_scratch=True
        ).run({"x": [numpy.zeros((2, 3))]})


@pytest.mark.parametrize("held", [False, True])
def test_an_optional_holds_what_the_sample_holds(held):
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [3]))
    nodes = [
        helper.make_node("OptionalHasElement", ["x"], ["has"]),
        helper.make_node("Identity", ["x"], ["y"]),
    ]
    flag = helper.make_tensor_type_proto(TensorProto.BOOL, [])
    model = model_of(nodes, {"x": kind}, {"has": flag, "y": kind})
    x = numpy.arange(3, dtype=numpy.float32)
    sample, other = (x, None) if held else (None, x)
    compiled = smelt.onnx.compile_model(model, sizes={"x": sample}, no_plan_cache=True)
    found = compiled.session(**({"from_scratch": True} if held else {})).run({"x": sample})
    assert found["has"] == held and (found["y"].tolist() == [0, 1, 2] if held else found["y"] is None)
    with pytest.raises(smelt.Error):
        compiled.session(**({"from_scratch": True} if held else {})).run({"x": other})


def test_open_sizes_are_those_of_the_sample():
    """Sizes without a number, a name or a bound; the numbers of the sample are of no account."""
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", None])
    model = model_of([helper.make_node("Add", ["x", "x"], ["y"])], {"x": kind}, {"y": FLOATS})
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    compiled = smelt.onnx.compile_model(model, sizes={"x": x}, no_plan_cache=True)
    session = compiled.session(from_scratch=True)
    assert not compiled.frozen
    numpy.testing.assert_array_equal(session.run({"x": x + 1})["y"], 2 * x + 2)
    with pytest.raises(smelt.Error):
        session.run({"x": x[:1]})
    with pytest.raises(smelt.Error, match="no bound"):
        smelt.onnx.compile_model(model)
