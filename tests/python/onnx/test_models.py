"""Whole models: symbolic sizes, weights, and what is asked of inputs."""

import numpy
import pytest
from onnx import TensorProto, helper, parser

import models
import smelt
import smelt.onnx
from conftest import compared, reference


@pytest.fixture(scope="module")
def encoder():
    return models.encoder()


@pytest.fixture(scope="module")
def encoder_session(encoder):
    return smelt.onnx.compile_model(encoder, max={"batch": 5, "length": 40}, no_plan_cache=True).session()


@pytest.mark.parametrize("batch, length", [(1, 1), (3, 31), (5, 33), (2, 40)])
def test_one_plan_runs_all_sizes(encoder, encoder_session, batch, length):
    draw = numpy.random.default_rng(length)
    inputs = {"ids": draw.integers(-50, 50, (batch, length)), "mask": draw.random((batch, length)) < 0.8}
    compared(encoder, inputs, 1e-5, 2e-6, encoder_session)


def test_larger_sizes_than_the_bounds_are_errors(encoder_session):
    inputs = {"ids": numpy.zeros((1, 41), numpy.int64), "mask": numpy.ones((1, 41), bool)}
    with pytest.raises(smelt.Error, match="length"):
        encoder_session.run(inputs)


def test_indices_outside_are_errors(encoder_session):
    inputs = {"ids": numpy.full((1, 2), 50), "mask": numpy.ones((1, 2), bool)}
    with pytest.raises(smelt.Error):
        encoder_session.run(inputs)


@pytest.mark.parametrize("kind, tolerance", [(numpy.float32, 1e-5), (numpy.float16, 5e-3)])
@pytest.mark.parametrize("batch, length, past", [(1, 1, 5), (3, 31, 1), (3, 33, 3), (2, 3, 31)])
def test_a_decoder_with_a_cache(kind, tolerance, batch, length, past):
    model = models.decoder(kind)
    draw = numpy.random.default_rng(past)
    shapes = {"x": (batch, length, 32), "past_key": (batch, 2, past, 8), "past_value": (batch, 2, past, 8)}
    inputs = {name: draw.normal(size=shape).astype(kind) for name, shape in shapes.items()}
    inputs["places"] = numpy.tile(numpy.arange(past, past + length), (batch, 1))
    compared(model, inputs, tolerance, tolerance, max={"batch": 3, "length": 40, "past": 40})


def test_an_input_that_is_looked_up_has_a_range(encoder):
    """So that the look-up has no guard: no number of it is one of a state."""
    model = smelt.onnx.compile_model(encoder, max={"batch": 2, "length": 8}, no_plan_cache=True)
    assert "below = 50, least = -50" in model.text and "index_fault" not in model.plan.dump("fused")
    ends = {"ids": numpy.array([[-50, 49]]), "mask": numpy.ones((1, 2), bool)}
    compared(encoder, ends, 1e-5, 2e-6, model.session())


def test_parts_of_an_input_may_be_rows_of_different_tables():
    text = """<ir_version: 10, opset_import: ["" : 20]>
    m (float[3] small, float[9] large, int64[2] i) => (float r) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}>
    { a = Slice (i, zero, one)
      b = Slice (i, one, two)
      x = Gather (small, a)
      y = Gather (large, b)
      r = Add (x, y) }"""
    draw = numpy.random.default_rng(3)
    inputs = {"small": draw.normal(size=3).astype(numpy.float32), "large": draw.normal(size=9).astype(numpy.float32)}
    compared(parser.parse_model(text), {**inputs, "i": numpy.array([2, 8])})


def test_tables_that_count_are_written_as_such():
    text = """<ir_version: 10, opset_import: ["" : 20]>
    m (float[8, 2] x) => (float r) <int64[1,4] places = {1, 3, 5, 7}>
    { r = Gather <axis = 0> (x, places) }"""
    x = numpy.arange(16, dtype=numpy.float32).reshape(8, 2)
    model = smelt.onnx.compile_model(parser.parse_model(text), no_plan_cache=True)
    assert "values" not in model.text and "iota" in model.text
    compared(parser.parse_model(text), {"x": x}, session=model.session())


def test_attention_stays_whole():
    text = smelt.onnx.compile_model(models.decoder(), max={"batch": 3, "length": 8, "past": 8}, no_plan_cache=True).text
    assert text.count("= attention") == 1 and "softmax" not in text


def test_a_written_model_is_one_of_the_command_line(encoder, tmp_path):
    smelt.onnx.write_model(encoder, tmp_path, max={"batch": 2, "length": 8})
    plan = smelt.compile(tmp_path, mode="infer", entry=["main"], max={"batch": 2, "length": 8}, no_plan_cache=True)
    inputs = {"ids": numpy.arange(6).reshape(2, 3), "mask": numpy.ones((2, 3), bool)}
    found = plan.session().run("main", **inputs)["r0"].numpy()
    numpy.testing.assert_allclose(found, reference(encoder, inputs)["hidden"], 1e-5, 2e-6)


def test_weights_keep_their_names(encoder, encoder_session):
    weights = encoder_session.session.state_dict()
    tensor = next(t for t in encoder.graph.initializer if t.name == "w_qkv")
    assert weights["w_qkv"].shape == tuple(tensor.dims)


def test_names_may_have_any_characters():
    name = 'a\nb"\\\x01\u00e9'
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", name], ["y"], name='its\n"name"')],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor(name, TensorProto.FLOAT, [2, 3], range(6))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    compared(model, {"x": numpy.ones((2, 3), numpy.float32)})


# ---- what sets sizes


def reshape_model():
    return parser.parse_model("""<ir_version: 10, opset_import: ["" : 20]>
        m (float[2,6] x, int64[2] shape, float[1] factor) => (float r) { z = Mul (x, factor)
        r = Reshape (z, shape) }""")


def reshape_inputs(*shape):
    return {
        "x": numpy.arange(12, dtype=numpy.float32).reshape(2, 6),
        "shape": numpy.array(shape),
        "factor": numpy.ones(1, numpy.float32),
    }


def test_inputs_that_set_sizes_are_taken_at_load_and_checked_when_it_runs():
    inputs = reshape_inputs(3, -1)
    model = smelt.onnx.compile_model(reshape_model(), sizes=inputs, no_plan_cache=True)
    assert list(model.frozen) == ["shape"]  # and no other input, though all were given
    session = model.session()
    assert session.run(inputs)["r"].shape == (3, 4)
    with pytest.raises(smelt.Error, match=r"'shape' sets sizes.*\[3, -1\].*\[4, 3\]"):
        session.run(reshape_inputs(4, 3))


def test_missing_sizes_are_named():
    with pytest.raises(smelt.Error, match=r"operator Reshape.*sizes=\{'shape': ...\}"):
        smelt.onnx.compile_model(reshape_model())


def test_symbols_without_bounds_are_named(encoder):
    with pytest.raises(smelt.Error, match="'length'.*max="):
        smelt.onnx.compile_model(encoder, max={"batch": 2})


# ---- types


def test_names_and_types_of_inputs_are_checked(encoder_session):
    good = {"ids": numpy.zeros((1, 2), numpy.int64), "mask": numpy.ones((1, 2), bool)}
    with pytest.raises(smelt.Error, match=r"missing \['mask'\]"):
        encoder_session.run({"ids": good["ids"]})
    with pytest.raises(smelt.Error, match="unknown"):
        encoder_session.run({**good, "idz": good["ids"]})
    with pytest.raises(smelt.Error, match="'ids': int32, expected int64"):
        encoder_session.run({**good, "ids": good["ids"].astype(numpy.int32)})


def one_operator(operator, kind, count=2, **attributes):
    node = helper.make_node(operator, ["x", "y"][:count], ["r"], **attributes)
    ports = [helper.make_tensor_value_info(name, kind, [3]) for name in node.input]
    graph = helper.make_graph([node], "m", ports, [helper.make_tensor_value_info("r", kind, [3])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.mark.parametrize("kind", ["INT8", "UINT8", "INT16", "UINT16", "INT32"])
@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul"])
def test_integers_wrap_as_theirs_do(kind, operator):
    model = one_operator(operator, TensorProto.DataType.Value(kind))
    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind))
    ends = numpy.iinfo(dtype)
    x = numpy.array([ends.max, ends.min, ends.max], dtype)
    y = numpy.array([ends.max, ends.max, 3], dtype)
    with numpy.errstate(over="ignore"):
        compared(model, {"x": x, "y": y})


@pytest.mark.parametrize(
    "kind, low, high", [("INT64", -(2**31) - 1, 2**31), ("UINT64", None, 2**32)]
)
def test_integers_beyond_32_bits_are_errors(kind, low, high):
    model = one_operator("Add", TensorProto.DataType.Value(kind))
    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind))
    session = smelt.onnx.compile_model(model, no_plan_cache=True).session()
    for bad in (low, high):
        if bad is not None:
            with pytest.raises(smelt.Error, match=f"'x'.*{kind}"):
                session.run({"x": numpy.array([0, 1, bad], dtype), "y": numpy.zeros(3, dtype)})


UNSIGNED = {
    "arithmetic": "a = Sub (x, y) b = Mul (a, x) r = Add (b, y)",
    "quotients": "a = Div (x, y) b = Mod (x, y) r = Max (a, b)",
    "bits": "a = BitwiseXor (x, y) b = BitwiseNot (a) r = BitwiseAnd (b, x)",
    "sums": "r = ReduceSum <keepdims = 1> (x)",
    "order": "a = Less (x, y) r = Where (a, x, y)",
    "floats": "a = Cast <to = 1> (x) b = Max (a) c = Cast <to = 7> (x) r = Cast <to = 12> (c)",
}


@pytest.mark.parametrize("kind", ["uint32", "uint64"])
@pytest.mark.parametrize("body", UNSIGNED)
def test_unsigned_integers_have_all_their_bits(kind, body):
    text = UNSIGNED[body].replace("to = 12", f"to = {helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))}")
    text = f"""<ir_version: 10, opset_import: ["" : 20]> m ({kind}[N] x, {kind}[N] y) => ({kind}[M] r) {{ {text} }}"""
    x = numpy.array([0, 1, 7, 2**31 - 1, 2**31, 2**32 - 1, 3000000000, 12], kind)
    with numpy.errstate(over="ignore"):
        compared(parser.parse_model(text), {"x": x, "y": x[::-1].copy() | 1}, max={"N": 8})


@pytest.mark.parametrize("size, y", (("N", [0.1, 0.1, 7.0, 7.0, -0.1, 0.1, numpy.inf, 3.0, 2.0, 3.0]), ("1", [0.1])))
def test_remainders_of_floats_are_exact(size, y):
    text = f"""<ir_version: 10, opset_import: ["" : 20]> m (float[N] x, float[{size}] y) => (float[N] r)
    {{ r = Mod <fmod = 1> (x, y) }}"""
    x = numpy.array([1.0, 0.3, 1e9, -1e9, 5.3, -5.3, 7.0, 1e-40, numpy.inf, -0.0], numpy.float32)
    y = numpy.array(y, numpy.float32)
    found = smelt.onnx.compile_model(parser.parse_model(text), max={"N": 10}).session().run({"x": x, "y": y})["r"]
    with numpy.errstate(invalid="ignore"):
        numpy.testing.assert_array_equal(found, numpy.fmod(x, y))


def test_the_sign_of_an_unsigned_integer_of_64_bits_is_refused():
    text = """<ir_version: 10, opset_import: ["" : 20]> m (uint64[3] x, uint64[3] y) => (bool[3] r)
    { a = Sub (x, y) r = Less (a, x) }"""
    with pytest.raises(smelt.onnx.Refusal, match="operator Less: a UINT64 that may be below 0 or from 2.63 on"):
        smelt.onnx.compile_model(parser.parse_model(text))


def test_doubles_are_refused_unless_asked_for():
    model = one_operator("Add", TensorProto.DOUBLE)
    with pytest.raises(smelt.onnx.Refusal, match="doubles=True"):
        smelt.onnx.compile_model(model)
    compared(model, {"x": numpy.array([0.1, 1.5, -2]), "y": numpy.array([0.2, 1.5, 7])}, 1e-6, 1e-6, doubles=True)


@pytest.mark.parametrize("kind, unit", [("FLOAT16", 2**-11), ("BFLOAT16", 2**-8)])
def test_every_operator_rounds_to_16_bits(kind, unit):
    """1 + unit / 2 is 1 there, so that nothing is left of the smaller number."""
    code = TensorProto.DataType.Value(kind)
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
    m ({kind.lower()}[3] x, {kind.lower()}[3] y) => ({kind.lower()}[3] r) {{ z = Add (x, y)
    r = Sub (z, x) }}"""
    dtype = helper.tensor_dtype_to_np_dtype(code)
    x, y = numpy.ones(3, dtype), numpy.array([unit / 2, unit, 4 * unit], dtype)
    found = smelt.onnx.compile_model(parser.parse_model(text), no_plan_cache=True).session().run({"x": x, "y": y})["r"]
    assert found.astype(float).tolist() == [0, 0, 4 * unit]


# ---- what there is no row for


def test_coverage_names_all_operators_at_once():
    text = """<ir_version: 10, opset_import: ["" : 20, "com.example" : 1]>
    m (float[3] x) => (float r) { a = NonZero (x)
    b = com.example.Magic (x)
    c = com.example.Magic (b)
    r = Add (x, c) }"""
    missing = smelt.onnx.coverage(parser.parse_model(text))
    assert missing == {"NonZero": 1, "com.example.Magic": 2} and "Magic: 2" in str(missing)
    assert "every operator" in str(smelt.onnx.coverage(models.encoder()))


def test_refusals_name_the_operator():
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20]> m (float[3] x) => (int64 r) { r = NonZero (x) }'
    )
    with pytest.raises(smelt.onnx.Refusal, match="operator NonZero") as error:
        smelt.onnx.compile_model(model)
    assert isinstance(error.value, smelt.Error)


# ---- sizes that are compared


SIZE = """<ir_version: 10, opset_import: ["" : 20]>
    m (float[B,T] x) => (float[B,T] r) <float other = {{7}}, int64 first = {{0}}, int64 second = {{1}}, int64 number = {{{number}}}>
    {{ s = Shape (x)
       a = Gather (s, first)
       b = Gather (s, {right})
       c = Equal (a, {compared})
       r = Where (c, x, other) }}"""


@pytest.mark.parametrize("number", [-1, 1, 2])
@pytest.mark.parametrize("compared_with", ["b", "number"])
@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (3, 3)])
def test_whether_sizes_are_equal_may_differ_from_run_to_run(number, compared_with, shape):
    text = SIZE.format(number=number, right="second", compared=compared_with)
    x = numpy.random.default_rng(shape).normal(size=shape).astype(numpy.float32)
    compared(parser.parse_model(text), {"x": x}, max={"B": 4, "T": 4})


def test_a_branch_by_a_symbolic_size_is_refused():
    text = """<ir_version: 10, opset_import: ["" : 20]>
    m (float[B] x) => (float[B] r) <int64 one = {1}>
    { s = Shape (x)
      z = Squeeze (s)
      c = Equal (z, one)
      r = If (c) <then_branch = t () => (float[B] y) { y = Neg (x) }, else_branch = e () => (float[B] w) { w = Abs (x) }> }"""
    with pytest.raises(smelt.onnx.Refusal, match="operator If: operand 0 follows from symbolic sizes"):
        smelt.onnx.compile_model(parser.parse_model(text), max={"B": 4})


def test_a_size_that_is_not_there_is_refused():
    text = """<ir_version: 10, opset_import: ["" : 20]>
    m (float[B] x) => (int64 r) <int64 place = {5}> { s = Shape (x)
    r = Gather (s, place) }"""
    with pytest.raises(smelt.onnx.Refusal, match="operator Gather: indices outside of 1"):
        smelt.onnx.compile_model(parser.parse_model(text), max={"B": 4})


# ---- indices


LOOK_UPS = {
    "elements": "r = GatherElements <axis = 1> (x, i)",
    "tuples": "r = GatherND (x, i)",
    "tuples of a batch": "r = GatherND <batch_dims = 1> (x, i)",
}


@pytest.mark.parametrize("body", LOOK_UPS)
@pytest.mark.parametrize("wrong", [4, -5, 2**31 - 1, -(2**31)])
def test_an_index_outside_of_its_axis_is_no_neighbours(body, wrong):
    text = f"""<ir_version: 10, opset_import: ["" : 20]> m (float[3,4] x, int64[3,1] i) => (float r) {{ {LOOK_UPS[body]} }}"""
    session = smelt.onnx.compile_model(parser.parse_model(text)).session()
    i = numpy.array([[0], [wrong], [1]])
    with pytest.raises(smelt.Error, match="out of bounds|expected an id from -[34] to [23]"):
        session.run({"x": numpy.ones((3, 4), numpy.float32), "i": i})


def test_a_scatter_outside_of_its_axis_is_an_error():
    text = """<ir_version: 10, opset_import: ["" : 20]> m (float[3,4] x, int64[3,1] i, float[3,1] u) => (float[3,4] r)
    { r = ScatterElements <axis = 1> (x, i, u) }"""
    inputs = {"x": numpy.zeros((3, 4), numpy.float32), "u": numpy.ones((3, 1), numpy.float32)}
    session = smelt.onnx.compile_model(parser.parse_model(text)).session()
    found = session.run({**inputs, "i": numpy.array([[0], [-1], [3]])})["r"]
    assert numpy.argwhere(found).tolist() == [[0, 0], [1, 3], [2, 3]]
    for wrong in (5, -6):
        with pytest.raises(smelt.Error, match="expected an id from -4 to 3"):
            session.run({**inputs, "i": numpy.array([[0], [wrong], [3]])})


# ---- graphs inside, and functions


def test_functions_of_a_model_are_expanded():
    text = """<ir_version: 10, opset_import: ["" : 20, "own" : 1]>
    m (float[3] x) => (float[3] r) { r = own.twice <by = 3.0> (x) }
    <domain: "own", opset_import: ["" : 20]>
    twice <by> (a) => (c) { f = Constant <value_float : float = @by> ()
    c = Mul (a, f) }"""
    compared(parser.parse_model(text), {"x": numpy.array([1, -2, 5], numpy.float32)})


def test_loops_are_written_out():
    text = """<ir_version: 10, opset_import: ["" : 20]>
    m (float[3] x) => (float[3] r, float[4,3] all)
    <int64 count = {4}, bool on = {1}>
    { r, all = Loop (count, on, x) <body = turn (int64 t, bool go, float[3] before) => (bool again, float[3] after, float[3] shown)
      { again = Identity (go)
        after = Add (before, x)
        shown = Mul (after, after) }> }"""
    compared(
        parser.parse_model(text.replace("(count, on, x) <", "<").replace("}> }", "}> (count, on, x) }")),
        {"x": numpy.array([1, -2, 5], numpy.float32)},
    )


def test_tensors_without_elements():
    text = """<ir_version: 10, opset_import: ["" : 20]>
    m (float[0,3] x, float[2,3] y) => (float s, float c, float n) <int64[1] zero = {0}>
    { s = ReduceSum <keepdims = 0> (x, zero)
      c = Concat <axis = 0> (x, y)
      n = Neg (x) }"""
    inputs = {"x": numpy.zeros((0, 3), numpy.float32), "y": numpy.arange(6, dtype=numpy.float32).reshape(2, 3)}
    compared(parser.parse_model(text), inputs)


def test_nothing_of_onnx_is_imported_unasked():
    import subprocess
    import sys

    code = "import sys, smelt; print('onnx' in sys.modules); import smelt.onnx; print('onnx' in sys.modules)"
    import os
    import pathlib

    environment = dict(os.environ, PYTHONPATH=str(pathlib.Path(smelt.__file__).parents[1]))
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.split() == ["False", "True"]
