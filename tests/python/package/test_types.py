"""Every type that plans have goes in and comes out."""

import numpy
import pytest

import smelt

TYPES = {
    "f32": numpy.float32,
    "f16": numpy.float16,
    "i32": numpy.int32,
    "i64": numpy.int64,
    "u8": numpy.uint8,
    "bool": numpy.bool_,
}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    made = {}

    def make(source):
        if source not in made:
            path = tmp_path_factory.mktemp("graphs") / "model.ir"
            path.write_text("symbols N <= 8\n" + source)
            made[source] = smelt.compile(path, mode="infer", no_plan_cache=True).session()
        return made[source]

    return make


@pytest.mark.parametrize("name", TYPES)
def test_values_come_back(sessions, name):
    session = sessions("graph @g(%%x: %s[N,3]) {\n  return y = %%x\n}\n" % name)
    values = numpy.arange(12).reshape(4, 3).astype(TYPES[name])
    result = session.run("g", x=values)["y"]
    assert result.dtype == name and result.shape == (4, 3)
    assert numpy.array_equal(numpy.from_dlpack(result), values)
    assert result.tolist() == values.tolist()
    assert len(result) == 4


def test_bf16_is_handed_out_by_dlpack_alone(sessions):
    session = sessions("graph @g(%x: f32[N]) {\n  %y = convert %x : bf16[N]\n  return y = %y\n}\n")
    result = session.run("g", x=numpy.ones(3, numpy.float32))["y"]
    assert result.dtype == "bf16" and result.nbytes == 6
    assert type(result.__dlpack__()).__name__ == "PyCapsule"
    assert result.__dlpack_device__() == (1, 0)
    with pytest.raises(smelt.Error, match="no bf16"):
        numpy.asarray(result)


def test_single_elements_are_numbers(sessions):
    session = sessions("graph @g(%x: f32[N]) {\n  %y = convert %x : bf16[N]\n  return y = %y\n}\n")
    result = session.run("g", x=numpy.array([1.5], numpy.float32))["y"]
    assert result.item() == 1.5 and float(result) == 1.5
    with pytest.raises(smelt.Error, match="expected one element"):
        session.run("g", x=numpy.ones(3, numpy.float32))["y"].item()
