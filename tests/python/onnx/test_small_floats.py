"""Floats of 4 and 8 bits: every number of them, what lies halfway between two, and what none of them holds."""

import ml_dtypes
import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper

import smelt.onnx
from conftest import compared

TYPES = {
    "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn,
    "FLOAT8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "FLOAT8E5M2": ml_dtypes.float8_e5m2,
    "FLOAT8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "FLOAT4E2M1": ml_dtypes.float4_e2m1fn,
}
ALL = {**TYPES, "FLOAT8E8M0": ml_dtypes.float8_e8m0fnu}
SPECIAL = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-30, -1e-30, 1e-45, 3e38, -3e38, 1 / 3, 57344.1]


def model_of(operator, source, target, shape, **attributes):
    node = helper.make_node(operator, ["x"], ["y"], to=getattr(TensorProto, target), **attributes)
    kinds = {"x": getattr(TensorProto, source), "y": getattr(TensorProto, target)}
    ports = [helper.make_tensor_value_info(name, kind, shape) for name, kind in kinds.items()]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=11)


def run(model, x):
    return smelt.onnx.compile_model(model, no_plan_cache=True).session(from_scratch=True).run({"x": x})["y"]


def numbers_of(kind):
    """All numbers of the type, the middle of each two neighbours, and the floats beside both."""
    bits = 4 if kind is ml_dtypes.float4_e2m1fn else 8
    own = numpy.arange(2**bits, dtype=numpy.uint8).view(kind).astype(numpy.float32)
    own = numpy.unique(own[numpy.isfinite(own)])
    own = numpy.append(own, [own[-1] * 2 - own[-2], own[0] * 2 - own[1]]).astype(numpy.float32)
    own = numpy.sort(own)
    exact = numpy.concatenate([own, (own[1:] + own[:-1]) / 2])
    beside = [numpy.nextafter(exact, numpy.float32(side)) for side in (-numpy.inf, numpy.inf)]
    return numpy.concatenate([exact, *beside, numpy.array(SPECIAL, numpy.float32)]).astype(numpy.float32)


def assert_same_bits(found, expected):
    """But for those of NaN."""
    assert found.dtype == expected.dtype and found.shape == expected.shape
    left, right = found.astype(numpy.float32), expected.astype(numpy.float32)
    numpy.testing.assert_array_equal(left, right)
    numpy.testing.assert_array_equal(numpy.signbit(left[left == 0]), numpy.signbit(right[right == 0]))


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("name", TYPES)
def test_casts_round_to_the_nearest_number(name, saturate):
    x = numbers_of(TYPES[name])
    expected = numpy_helper.saturate_cast(x, numpy.dtype(TYPES[name])) if saturate else x.astype(TYPES[name])
    if name == "FLOAT4E2M1":  # the sign of what stands for NaN is open
        x, expected = x[~numpy.isnan(x)], expected[~numpy.isnan(x)]
    assert_same_bits(run(model_of("Cast", "FLOAT", name, x.shape, saturate=saturate), x), expected)


POWERS = {
    "up": [2.0, 1.0, 2.0, 2.0, 4.0, 2.0**-127, 2.0**127, 2.0**127],
    "down": [1.0, 1.0, 1.0, 1.0, 2.0, 2.0**-127, 2.0**127, 2.0**127],
    "nearest": [1.0, 1.0, 2.0, 2.0, 4.0, 2.0**-127, 2.0**127, 2.0**127],
}


@pytest.mark.parametrize("mode", POWERS)
def test_casts_to_powers_of_two(mode):
    """As ONNX says in words: what is below the least number becomes that, and what is above the largest one that."""
    x = numpy.array([1.25, 1.0, 1.5, 1.75, 3.0, 0.0, 3e38, numpy.inf], numpy.float32)
    found = run(model_of("Cast", "FLOAT", "FLOAT8E8M0", x.shape, round_mode=mode), x)
    numpy.testing.assert_array_equal(found.astype(numpy.float64), POWERS[mode])


def test_casts_to_powers_of_two_that_do_not_saturate():
    x = numpy.array([3e38, numpy.inf, numpy.nan, 0.0, 2.0**-127, 2.0**127], numpy.float32)
    found = run(model_of("Cast", "FLOAT", "FLOAT8E8M0", x.shape, round_mode="up", saturate=0), x)
    numpy.testing.assert_array_equal(found.astype(numpy.float64), [numpy.nan] * 4 + [2.0**-127, 2.0**127])


@pytest.mark.parametrize("name", ALL)
def test_all_numbers_come_and_go_as_they_are(name):
    x = numpy.arange(16 if name == "FLOAT4E2M1" else 256, dtype=numpy.uint8).view(ALL[name])
    assert_same_bits(run(model_of("Cast", name, "FLOAT", x.shape), x), x.astype(numpy.float32))
    assert_same_bits(run(model_of("Cast", name, name, x.shape), x), x)


@pytest.mark.parametrize("whole", ["INT8", "UINT8"])
@pytest.mark.parametrize("name", [name for name in ALL if name != "FLOAT4E2M1"])
def test_bits_of_8(name, whole):
    bits = numpy.arange(256, dtype=numpy.uint8).view(numpy.dtype(whole.lower()))
    numbers = bits.view(ALL[name])
    assert_same_bits(run(model_of("BitCast", whole, name, bits.shape), bits), numbers)
    is_number = ~numpy.isnan(numbers.astype(numpy.float32))
    found = run(model_of("BitCast", name, whole, bits[is_number].shape), numbers[is_number])
    numpy.testing.assert_array_equal(found, bits[is_number])


@pytest.mark.parametrize("whole", [ml_dtypes.int4, ml_dtypes.uint4])
def test_bits_of_4(whole):
    numbers = numpy.arange(16, dtype=numpy.uint8).view(ml_dtypes.float4_e2m1fn)
    codes = [*range(8), *range(-8, 0)] if whole is ml_dtypes.int4 else [*range(16)]
    bits, name = numpy.array(codes).astype(whole), whole.__name__.upper()
    assert_same_bits(run(model_of("BitCast", name, "FLOAT4E2M1", (16,)), bits), numbers)
    numpy.testing.assert_array_equal(run(model_of("BitCast", "FLOAT4E2M1", name, (16,)), numbers), bits)


@pytest.mark.parametrize("whole", ["INT16", "UINT16"])
@pytest.mark.parametrize("name, kind", [("FLOAT16", numpy.float16), ("BFLOAT16", ml_dtypes.bfloat16)])
def test_bits_of_16(name, kind, whole):
    bits = numpy.arange(2**16, dtype=numpy.uint16).view(numpy.dtype(whole.lower()))
    numbers = bits.view(kind)
    assert_same_bits(run(model_of("BitCast", whole, name, bits.shape), bits), numbers)
    is_number = ~numpy.isnan(numbers.astype(numpy.float32))
    found = run(model_of("BitCast", name, whole, bits[is_number].shape), numbers[is_number])
    numpy.testing.assert_array_equal(found, bits[is_number])


@pytest.mark.parametrize("whole", ["INT32", "UINT32"])
def test_bits_of_32(whole):
    """Subnormal numbers, both zeros and infinities, and numbers of all exponents."""
    kind = numpy.dtype(whole.lower())
    drawn = numpy.random.default_rng(1).integers(0, 2**32, 4000).astype(numpy.uint32)
    ends = numpy.array([0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000], numpy.uint32)
    bits = numpy.concatenate([ends, ends | numpy.uint32(2**31), drawn])
    bits = bits[~numpy.isnan(bits.view(numpy.float32))].view(kind)
    numbers = bits.view(numpy.float32)
    assert_same_bits(run(model_of("BitCast", whole, "FLOAT", bits.shape), bits), numbers)
    numpy.testing.assert_array_equal(run(model_of("BitCast", "FLOAT", whole, bits.shape), numbers), bits)


def test_bits_of_nan():
    """NaN has lost its own bits: it has those that NumPy gives to one."""
    x = numpy.array([numpy.nan, -numpy.nan], numpy.float32)
    found = run(model_of("BitCast", "FLOAT", "INT32", (2,)), x)
    numpy.testing.assert_array_equal(found, numpy.array([0x7FC00000] * 2))


@pytest.mark.parametrize("name", TYPES)
def test_quantized_by_blocks(name):
    kind, draw = getattr(TensorProto, name), numpy.random.default_rng(3)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s"], ["q"], axis=1, block_size=3, output_dtype=kind),
        helper.make_node("DequantizeLinear", ["q", "s"], ["y"], axis=1, block_size=3),
    ]
    shapes = {"x": (5, 7), "s": (5, 3)}
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in shapes.items()]
    results = [helper.make_tensor_value_info("q", kind, (5, 7)), helper.make_tensor_value_info("y", 1, (5, 7))]
    graph = helper.make_graph(nodes, "g", ports, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    x = (draw.normal(size=(5, 7)) * 20).astype(numpy.float32)
    compared(model, {"x": x, "s": draw.uniform(0.1, 2, (5, 3)).astype(numpy.float32)})


def test_weights_and_moves():
    """Weights of 8 bits, turned and joined before they are dequantized."""
    draw = numpy.random.default_rng(4)
    weights = draw.normal(size=(70, 90)).astype(ml_dtypes.float8_e4m3fn)
    nodes = [
        helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]),
        helper.make_node("DequantizeLinear", ["t", "s"], ["d"]),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (3, 90))]
    results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (3, 70))]
    initializers = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(numpy.float32(0.5), "s")]
    graph = helper.make_graph(nodes, "g", ports, results, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
    compared(model, {"x": draw.normal(size=(3, 90)).astype(numpy.float32)})
