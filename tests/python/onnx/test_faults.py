"""Models that are wrong, by hand: each is one smelt.Error that says where, and what to do."""

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, parser

import smelt
import smelt.onnx

HEAD = '<ir_version: 10, opset_import: ["" : 20]>'
FAULTS = {
    "a name that nothing makes": ("float[3] x", "r = Add (x, y)", "'y', which nothing makes.*makes 'r'"),
    "nodes that are not sorted": ("float[3] x", "r = Neg (y) y = Abs (x)", "'y', which only a later node makes: sort"),
    "a circle": ("float[3] x", "y = Add (x, r) r = Neg (y)", "'r', which only a later node makes"),
    "a name that is made twice": ("float[3] x", "r = Neg (x) r = Abs (x)", "it makes 'r', which a node before it"),
    "an operand too few": ("float[3] x", "r = Gather (x)", "Gather: 1 operands, expected 2"),
    "an operand of another type": ("float[3] x, float[2] y", "r = Gather (x, y)", "indices.*unsupported type.*FLOAT"),
    "two types": ("float[3] x, int64[3] y", "r = Add (x, y)", "Add:.*inconsistent type.*FLOAT.3., INT64.3."),
    "an axis that is not there": ("float[2,3] x", "r = Concat <axis = -3> (x, x)", "Concat: axis must be in"),
    "no axis": ("float[2,3] x", "r = Concat (x, x)", "no attribute 'axis'"),
    "an attribute of another type": ("float[2] x", 'r = Softmax <axis = "last"> (x)', "'axis' is of type STRING, expected INT"),
    "an unknown attribute": ("float[2] x", "r = Softmax <place = 1> (x)", "no attribute 'place'; there are axis"),
    "a word that is none of its": ("float[2] x", 'r = Gelu <approximate = "some"> (x)', "'some', expected none or tanh"),
    "sizes that do not fit": ("float[2,3] x", "r = MatMul (x, x)", r"MatMul: Incompatible dimensions.*FLOAT\[2,3\]"),
    "an output that nothing makes": ("float[3] x", "y = Neg (x)", "output 'r' is made by no node"),
    "results that there are not": ("float[3] x", "r, s = Neg (x)", "Neg: 2 results, expected 1"),
    "no type to cast to": ("float[3] x", "r = Cast <to = 0> (x)", "Cast: Invalid tensor data type 0"),
    "strings": ("string[3] x", "r = Identity (x)", "STRING.*input 'x'"),
    "a size below zero": ("float[-1] x", "r = Neg (x)", "size -1 of the input 'x'"),
    "a size that is far too large": ("float[99999999999] x", "r = Neg (x)", "size 99999999999 of the input 'x'"),
    "a branch that reads what is not there": (
        "float[3] x",
        "c = Constant <value = bool {1}> () r = If (c) <then_branch = t () => (float[3] y) { y = Neg (z) }, "
        "else_branch = e () => (float[3] w) { w = Abs (x) }>",
        "Neg: it reads 'z'.*makes 'y' in the node that makes 'r'",
    ),
    "a branch with too many results": (
        "float[3] x",
        "c = Constant <value = bool {1}> () r, s = If (c) <then_branch = t () => (float[3] y) { y = Neg (x) }, "
        "else_branch = e () => (float[3] w) { w = Abs (x) }>",
        "If: 2 results, of which there are 1",
    ),
}


def model_of(ports, body, head=HEAD):
    return parser.parse_model(f"{head} m ({ports}) => (float r) {{ {body.replace(') ', ')' + chr(10))} }}")


def refused(model, **options):
    with pytest.raises(smelt.Error) as error:
        smelt.onnx.compile_model(model, no_plan_cache=True, **options)
    assert len(str(error.value)) < 600
    return str(error.value)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(name):
    ports, body, message = FAULTS[name]
    with pytest.raises(smelt.onnx.Refusal, match=message):
        smelt.onnx.compile_model(model_of(ports, body), no_plan_cache=True)


def good(**options):
    model = model_of("float[N,3] x", "r = Add (x, w)", **options)
    model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0]))
    return model


BOUNDS = {
    "unknown": ({"N": 4, "Q": 4}, smelt.Error, "no size 'Q'; it has N"),
    "none": ({}, smelt.Error, "'N'.*has no bound"),
    "zero": ({"N": 0}, smelt.Error, "'N': 0, expected a bound of at least 1"),
    "far too large": ({"N": 2**40}, smelt.Error, "below 2.31"),
    "a fraction": ({"N": 2.5}, TypeError, "'N': 2.5, expected a whole number"),
    "a list": (["N"], TypeError, "a list, expected a mapping"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_that_do_not_fit(name):
    bounds, kind, message = BOUNDS[name]
    with pytest.raises(kind, match=message):
        smelt.onnx.compile_model(good(), max=bounds)


def test_sizes_of_an_input_that_there_is_not():
    with pytest.raises(smelt.Error, match="no input 'shape'; it has x"):
        smelt.onnx.compile_model(good(), max={"N": 4}, sizes={"shape": numpy.array([1])})


@pytest.mark.parametrize("size", ["nan", "inf", "dim", "ceil_div", "size0", "a b", "parameter"])
def test_any_name_of_a_size_will_do(size):
    model = good()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = size
    x = numpy.ones((2, 3), numpy.float32)
    found = smelt.onnx.compile_model(model, max={size: 4}, no_plan_cache=True).session().run({"x": x})["r"]
    assert (found == [2, 3, 4]).all()


@pytest.mark.parametrize("name", ["out", "stream", "self", "on_device", 'a "b" \\'])
def test_any_name_of_an_input_will_do(name):
    model = good()
    model.graph.input[0].name = model.graph.node[0].input[0] = name
    x = numpy.ones((2, 3), numpy.float32)
    found = smelt.onnx.compile_model(model, max={"N": 4}, no_plan_cache=True).session().run({name: x})["r"]
    assert (found == [2, 3, 4]).all()


DATA = {
    "too short": (lambda t: setattr(t, "raw_data", t.raw_data[:7]), "initializer 'w': its data"),
    "too long": (lambda t: setattr(t, "raw_data", t.raw_data * 2), "initializer 'w': its data"),
    "another shape": (lambda t: t.dims.__setitem__(0, 4), "initializer 'w': its data"),
    "a size below zero": (lambda t: t.dims.__setitem__(0, -3), "initializer 'w'.*negative size"),
    "another file": (lambda t: setattr(t, "data_location", 1), "initializer 'w'.*another file"),
    "an unknown type": (lambda t: setattr(t, "data_type", 99), "number 99.*initializer 'w'"),
}


@pytest.mark.parametrize("name", DATA)
def test_weights_that_are_damaged(name):
    damage, message = DATA[name]
    model = good()
    tensor = model.graph.initializer[0]
    tensor.CopyFrom(onnx.numpy_helper.from_array(numpy.ones(3, numpy.float32), "w"))
    damage(tensor)
    with pytest.raises(smelt.onnx.Refusal, match=message):
        smelt.onnx.compile_model(model, max={"N": 4})


def test_twins():
    model = good()
    model.graph.initializer.append(model.graph.initializer[0])
    assert "2 initializers are called 'w'" in refused(model, max={"N": 4})
    model = good()
    model.graph.output.append(model.graph.output[0])
    assert "2 outputs are called 'r'" in refused(model, max={"N": 4})


@pytest.mark.parametrize("version", [0, -1, 1000])
def test_operator_sets_that_there_are_not(version):
    model = good()
    model.opset_import[0].version = version
    assert f"operator set {version}" in refused(model, max={"N": 4})


def test_an_operator_of_no_set_that_the_model_imports():
    model = good()
    model.opset_import[0].domain = "com.example"
    assert "operator Add: the model imports no operator set of 'ai.onnx'" in refused(model, max={"N": 4})


def test_a_function_that_calls_itself():
    text = """<ir_version: 10, opset_import: ["" : 20, "own" : 1]>
    m (float[3] x) => (float[3] r) { r = own.f (x) }
    <domain: "own", opset_import: ["" : 20, "own" : 1]>
    f (a) => (c) { c = own.f (a) }"""
    assert "operator f" in refused(parser.parse_model(text))


def test_files_that_are_no_models(tmp_path):
    for name, content in {"empty": b"", "text": b"no model at all", "half": good().SerializeToString()[:40]}.items():
        (tmp_path / name).write_bytes(content)
        assert len(refused(tmp_path / name)) > 10
    with pytest.raises(smelt.Error, match="No such file"):
        smelt.onnx.compile_model(tmp_path / "nowhere.onnx")
    with pytest.raises(TypeError, match="a list, expected an onnx.ModelProto or the path"):
        smelt.onnx.compile_model([1])


def test_weights_that_lie_in_no_file(tmp_path):
    model = good()
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(numpy.ones(3, numpy.float32), "w"))
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    assert smelt.onnx.compile_model(tmp_path / "m.onnx", max={"N": 4}).text
    (tmp_path / "w.bin").write_bytes(b"1234")
    assert "m.onnx" in refused(tmp_path / "m.onnx", max={"N": 4}) or "'w'" in refused(tmp_path / "m.onnx", max={"N": 4})
    (tmp_path / "w.bin").unlink()
    assert "w" in refused(tmp_path / "m.onnx", max={"N": 4})
