"""Operators at odd sizes and on fresh numbers, against onnx's reference."""

import numpy
import pytest
from onnx import parser

from conftest import compared

SIZES = [1, 3, 31, 33, 197]

# A body in onnx's text form over x: float[N,5], y: float[N,5], i: int64[N] in [-5, 5), b: bool[N,5], and its result.
BODIES = {
    "arithmetic": "z = Sub (x, y) r = Mul (z, z)",
    "functions": "a = Abs (x) c = Sqrt (a) d = Log (c) e = Sigmoid (d) r = Erf (e)",
    "inverses": "t = Tanh (x) a = Atanh (t) s = Asinh (a) u = Atan (s) v = Sin (u) w = Asin (v) r = Acos (v)",
    "hyperbolic": "a = Cosh (x) c = Sinh (x) d = Add (a, c) f = Add (a, a) e = Acosh (f) r = Add (d, e)",
    "powers": "c = Constant <value_float = 2.0> () a = Pow (x, c) d = Constant <value_floats = [3.0]> () e = Pow (y, d) f = Constant <value_float = -1.0> () g = Pow (y, f) h = Add (a, e) r = Mul (h, g)",
    "large numbers": "c = Constant <value_float = 1e20> () a = Mul (x, c) e = Asinh (a) f = Abs (a) g = Acosh (f) h = Add (e, g) k = Constant <value_float = 0.0> () l = Mul (x, k) m = Constant <value_float = 88.9> () o = Add (l, m) p = Sinh (o) q = Cosh (o) s = Sub (p, q) t = Div (p, q) u = Add (s, t) r = Add (h, u)",
    "activations": "a = Gelu (x) c = Softplus (a) d = Mish (c) e = HardSwish (d) f = Selu (e) r = Celu (f)",
    "rounding": "t = Add (x, y) u = Add (t, t) a = Round (u) c = Ceil (u) d = Floor (u) e = Add (a, c) r = Add (e, d)",
    "choice": "c = Greater (x, y) d = And (c, b) r = Where (d, x, y)",
    "softmax": "r = Softmax <axis = 0> (x)",
    "log softmax": "r = LogSoftmax <axis = -1> (x)",
    "norm": "r = LpNormalization <axis = 0> (x)",
    "mean": "r = ReduceMean <keepdims = 0> (x)",
    "logsumexp": "a = Constant <value_ints = [0]> () r = ReduceLogSumExp <keepdims = 1> (x, a)",
    "product": "t = Tanh (x) u = Exp (t) a = Constant <value_ints = [0]> () r = ReduceProd <keepdims = 0> (u, a)",
    "running sum": "a = Constant <value_int = 0> () r = CumSum <reverse = 1, exclusive = 1> (x, a)",
    "matmul": "t = Transpose (y) r = MatMul (x, t)",
    "gemm": "r = Gemm <transA = 1, alpha = 0.5> (x, y)",
    "einsum": 'r = Einsum <equation = "ij,ik->jk"> (x, y)',
    "gather": "t = Transpose (x) r = Gather <axis = 0> (t, i)",
    "gather elements": "s = Shape (x) a = Constant <value_ints = [1]> () u = Unsqueeze (i, a) e = Expand (u, s) r = GatherElements <axis = 1> (x, e)",
    "scatter": "a = Constant <value_ints = [1]> () u = Unsqueeze (i, a) v = ReduceSum (y, a) r = ScatterElements <axis = 1> (x, u, v)",
    "scatter add": 'a = Constant <value_ints = [1]> () u = Unsqueeze (i, a) v = ReduceSum (y, a) r = ScatterElements <axis = 1, reduction = "add"> (x, u, v)',
    "tile": "a = Constant <value_ints = [2, 3]> () r = Tile (x, a)",
    "slice": "s = Constant <value_ints = [-1]> () e = Constant <value_ints = [-100000]> () t = Constant <value_ints = [-2]> () a = Constant <value_ints = [1]> () r = Slice (x, s, e, a, t)",
    "triangle": "t = Transpose (y) m = MatMul (x, t) r = Trilu <upper = 0> (m)",
    "topk": "k = Constant <value_ints = [3]> () r, places = TopK (x, k)",
    "smallest integers": "d = Constant <value_int = 1000000007> () e = Sub (d, i) h = Constant <value_ints = [1]> () s, r = TopK <largest = 0, axis = 0> (e, h)",
    "hardmax": "r = Hardmax <axis = 0> (x)",
    "least integer": "d = Constant <value_int = 1000000007> () e = Sub (d, i) r = ArgMin <axis = 0> (e)",
    "last maximum": "r = ArgMax <axis = 0, select_last_index = 1> (x)",
    "one hot": "d = Constant <value_int = 10> () v = Constant <value_floats = [-1.0, 2.0]> () r = OneHot <axis = 0> (i, d, v)",
    "losses": 'e = Abs (i) m = Constant <value_int = 5> () t = Mod (e, m) r = SoftmaxCrossEntropyLoss <reduction = "sum", ignore_index = 2> (x, t)',
    "pad": 'p = Constant <value_ints = [0, 2, 0, 3]> () r = Pad <mode = "reflect"> (x, p)',
    "integers": "m = Constant <value_int = 3> () a = Mod (i, m) c = Div (i, m) r = Mul (a, c)",
    "wide product": "d = Constant <value_int = 1000000007> () e = Mul (i, d) f = Mul (e, e) m = Constant <value_int = 997> () r = Mod (f, m)",
    "wide sums": "d = Constant <value_int = 1000000007> () e = Mul (i, d) a = Constant <value_int = 0> () s = CumSum (e, a) k = Constant <value_ints = [0]> () t = ReduceSum (e, k) r = Sub (s, t)",
    "wide powers": "d = Constant <value_int = 21> () r = Pow (i, d)",
    "wide bits": "d = Constant <value_int = 1000000000007> () e = Mul (i, d) r = BitwiseXor (e, d)",
    "wide order": "d = Constant <value_int = 10000000000000007> () e = Mul (i, d) k = Constant <value_ints = [1]> () r, places = TopK <axis = 0> (e, k)",
    "bits": "m = Constant <value_int = 6> () a = Cast <to = 6> (i) n = Cast <to = 6> (m) c = BitwiseXor (a, n) r = BitwiseAnd (c, a)",
}


def model_of(body, size):
    kind = {"last maximum": "int64", "least integer": "int64", "smallest integers": "int64", "integers": "int64", "bits": "int32"}
    result = "int64" if body.startswith("wide") else kind.get(body, "float")
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
    m (float[{size},5] x, float[{size},5] y, int64[{size}] i, bool[{size},5] b) => ({result} r) {{ {BODIES[body].replace(") ", ")" + chr(10))} }}"""
    return parser.parse_model(text)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("size", SIZES)
def test_against_the_reference(body, size):
    draw = numpy.random.default_rng([size, len(body)])
    inputs = {
        "x": draw.normal(size=(size, 5)).astype(numpy.float32),
        "y": draw.normal(size=(size, 5)).astype(numpy.float32),
        "i": draw.integers(-5, 5, size),
        "b": draw.random((size, 5)) < 0.5,
    }
    compared(model_of(body, size), inputs)


WINDOWS = {
    "conv": "r = Conv <strides = [2, 1], pads = [1, 0, 2, 1], dilations = [1, 2], group = 2> (x, w)",
    "transposed": "r = ConvTranspose <strides = [2, 3], output_padding = [1, 0]> (x, w)",
    "max": "r = MaxPool <kernel_shape = [3, 2], strides = [2, 2], ceil_mode = 1, pads = [1, 0, 1, 0]> (x)",
    "average": "r = AveragePool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, 1, 1, 0], count_include_pad = 1> (x)",
    "normalised": "r = LRN <size = 3> (x)",
    "resized": 's = Constant <value_floats = [1.0, 1.0, 1.7, 0.6]> () r = Resize <mode = "cubic"> (x, , s)',
}


@pytest.mark.parametrize("body", WINDOWS)
@pytest.mark.parametrize("size", [3, 31, 33])
def test_windows_against_the_reference(body, size):
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
    m (float[4,4,{size},7] x, float[4,2,3,2] w) => (float r) {{ {WINDOWS[body].replace(") ", ")" + chr(10))} }}"""
    draw = numpy.random.default_rng(size)
    inputs = {
        name: draw.normal(size=shape).astype(numpy.float32)
        for name, shape in (("x", (4, 4, size, 7)), ("w", (4, 2, 3, 2)))
    }
    compared(parser.parse_model(text), inputs, atol=2e-5)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_recurrences_go_backwards(kind, direction):
    """The reference goes forward alone: time is turned around for it."""
    gates, hidden, time, batch, width = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], 3, 5, 2, 4
    draw = numpy.random.default_rng(7)
    both = 2 if direction == "bidirectional" else 1
    shapes = dict(x=(time, batch, width), w=(both, gates * hidden, width), r=(both, gates * hidden, hidden))
    inputs = {name: draw.normal(size=shape).astype(numpy.float32) for name, shape in shapes.items()}

    def model(way, count):
        ports = ", ".join(
            f"float[{','.join(map(str, (count, *shape[1:]) if name != 'x' else shape))}] {name}"
            for name, shape in shapes.items()
        )
        body = f'y = {kind} <hidden_size = {hidden}, direction = "{way}"> (x, w, r)'
        return parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> m ({ports}) => (float y) {{ {body} }}')

    import smelt.onnx
    from conftest import reference

    found = (
        smelt.onnx.compile_model(model(direction, both), no_plan_cache=True).session(from_scratch=True).run(inputs)["y"]
    )
    one = {"x": inputs["x"][::-1].copy(), "w": inputs["w"][-1:], "r": inputs["r"][-1:]}
    backwards = numpy.asarray(reference(model("forward", 1), one)["y"])[::-1]
    numpy.testing.assert_allclose(found[:, -1:], backwards, 2e-5, 2e-6)


def typed(text):
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : 22, "ai.onnx.ml" : 5]> {text}')


def drawn(seed, **shapes):
    draw = numpy.random.default_rng(seed)
    return {name: draw.normal(size=shape).astype(numpy.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_samples_of_images(mode, padding, align):
    """Of images of odd sizes, far outside of them, and halfway between two points."""
    model = typed(
        f"""m (float[2,3,5,4] x, float[2,3,7,2] grid) => (float r)
        {{ r = GridSample <mode = "{mode}", padding_mode = "{padding}", align_corners = {align}> (x, grid) }}"""
    )
    inputs = drawn(5, x=(2, 3, 5, 4), grid=(2, 3, 7, 2))
    inputs["grid"] *= 2
    inputs["grid"][0, 0] = numpy.array([[-1, 1], [0, 0], [1, -1], [0.25, -0.6], [9.3, -7.1], [0.5, 0.2], [1.5, -1.4]])
    compared(model, inputs, 1e-4, 1e-5)


@pytest.mark.parametrize("padding", ["zeros", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_samples_of_volumes(mode, padding):
    model = typed(
        f"""m (float[1,2,3,4,5] x, float[1,2,3,4,3] grid) => (float r)
        {{ r = GridSample <mode = "{mode}", padding_mode = "{padding}"> (x, grid) }}"""
    )
    inputs = drawn(6, x=(1, 2, 3, 4, 5), grid=(1, 2, 3, 4, 3))
    compared(model, inputs, 1e-4, 1e-5)


def test_samples_where_the_grid_is_no_number():
    """Zeros, or some point of the image: never one outside of it."""
    model = typed(
        """m (float[1,1,3,3] x, float[1,1,3,2] grid) => (float zeros, float border)
        { zeros = GridSample <mode = "nearest"> (x, grid)
          border = GridSample <mode = "nearest", padding_mode = "border"> (x, grid) }"""
    )
    import smelt.onnx

    x = numpy.arange(1, 10, dtype=numpy.float32).reshape(1, 1, 3, 3)
    grid = numpy.array([[numpy.nan, 0], [numpy.inf, 0], [-1e30, 1e30]], numpy.float32).reshape(1, 1, 3, 2)
    found = smelt.onnx.compile_model(model, no_plan_cache=True).session(from_scratch=True).run({"x": x, "grid": grid})
    assert found["zeros"].ravel().tolist() == [0, 0, 0] and found["border"].ravel().tolist()[1:] == [6, 7]


def test_a_batch_of_images_may_be_symbolic():
    model = typed("m (float[N,2,3,5] x, float[N,4,3,2] grid) => (float r) { r = GridSample (x, grid) }")
    import smelt.onnx

    session = smelt.onnx.compile_model(model, max={"N": 5}, no_plan_cache=True).session(from_scratch=True)
    for count in (1, 3, 5):
        compared(model, drawn(count, x=(count, 2, 3, 5), grid=(count, 4, 3, 2)), 1e-4, 1e-5, session)


@pytest.mark.parametrize("masked", [False, True])
def test_shifted_convolutions(masked):
    """Groups of channels and of offsets, strides and dilations, and offsets beyond the padding."""
    ports = "float[2,4,7,6] x, float[6,2,3,2] w, float[2,24,4,4] o, float[6] bias, float[2,12,4,4] mask"
    operands = "x, w, o, bias, mask" if masked else "x, w, o, bias"
    model = typed(
        f"""m ({ports}) => (float r)
        {{ r = DeformConv <group = 2, offset_group = 2, strides = [2, 2], dilations = [2, 1], pads = [2, 1, 2, 2]>
            ({operands}) }}"""
    )
    inputs = drawn(7, x=(2, 4, 7, 6), w=(6, 2, 3, 2), o=(2, 24, 4, 4), bias=(6,), mask=(2, 12, 4, 4))
    inputs["o"] *= 3
    compared(model, inputs, 1e-4, 1e-4)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("corners", ["half_pixel", "output_half_pixel"])
def test_bins_of_regions(mode, corners):
    """Regions that leave the image, that are empty, and of images of a batch in any order."""
    model = typed(
        f"""m (float[3,2,9,7] x, float[5,4] regions, int64[5] batches) => (float r)
        {{ r = RoiAlign <output_height = 3, output_width = 2, sampling_ratio = 3, spatial_scale = 0.5,
            mode = "{mode}", coordinate_transformation_mode = "{corners}"> (x, regions, batches) }}"""
    )
    inputs = drawn(8, x=(3, 2, 9, 7))
    regions = [[0, 0, 12, 16], [-9, -4, 5, 7], [3.3, 2.1, 3.3, 2.1], [8, 9, 40, 50], [1, 15, 13, 17.5]]
    inputs["regions"] = numpy.array(regions, numpy.float32)
    compared(model, {**inputs, "batches": numpy.array([2, 0, 1, 1, 0])}, 1e-4, 1e-5)


@pytest.mark.parametrize("count", [7, 8, 9, 12, 20])
def test_inverse_transforms_of_half_a_spectrum(count):
    """Odd and even numbers of results, from spectra that are too short and too long for them."""
    model = typed(
        f"""m (float[3,6,2,2] x) => (float r)
        {{ count = Constant <value_int = {count}> ()
          axis = Constant <value_int = 1> ()
          r = DFT <inverse = 1, onesided = 1> (x, count, axis) }}"""
    )
    compared(model, drawn(count, x=(3, 6, 2, 2)))


MELS = [(8, 64, 8192, 0.0, 4096.0), (5, 33, 8000, 20.0, 3999.0), (40, 512, 16000, 0.0, 8000.0)]


@pytest.mark.parametrize("bins, length, rate, low, high", MELS)
def test_mel_weights(bins, length, rate, low, high):
    model = typed(
        f"""m (float[1] x) => (float w)
        {{ bins = Constant <value_int = {bins}> ()
          length = Constant <value_int = {length}> ()
          rate = Constant <value_int = {rate}> ()
          low = Constant <value_float = {low}> ()
          high = Constant <value_float = {high}> ()
          w = MelWeightMatrix (bins, length, rate, low, high) }}"""
    )
    compared(model, {"x": numpy.zeros(1, numpy.float32)})


FOREST = dict(  # two trees of two and one tests, the second one for members of a set
    tree_roots=[0, 2],
    nodes_featureids=[0, 2, 1],
    nodes_truenodeids=[1, 0, 3],
    nodes_falsenodeids=[4, 1, 2],
    nodes_trueleafs=[0, 1, 1],
    nodes_falseleafs=[1, 1, 1],
    leaf_targetids=[0, 1, 1, 0, 1],
    n_targets=3,
)


@pytest.mark.parametrize("how", [0, 1, 2, 3])
@pytest.mark.parametrize("modes", [[0, 3, 6], [1, 2, 6], [5, 4, 6]])
def test_trees(how, modes):
    from onnx import helper, numpy_helper

    tables = dict(
        nodes_modes=numpy.array(modes, numpy.uint8),
        nodes_splits=numpy.array([0.5, -1, 0], numpy.float32),
        membership_values=numpy.array([3, 5, 7, numpy.nan], numpy.float32),
        leaf_weights=numpy.array([0.25, -3, 7, 11, 13.5], numpy.float32),
    )
    tables = {name: numpy_helper.from_array(array, name) for name, array in tables.items()}
    nan = [0, 1, 0]
    node = helper.make_node(
        "TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", aggregate_function=how,
        nodes_missing_value_tracks_true=nan, **FOREST, **tables,
    )
    ports = [helper.make_tensor_value_info(name, 1, (31, count)) for name, count in (("x", 3), ("y", 3))]
    sets = [helper.make_opsetid("ai.onnx.ml", 5), helper.make_opsetid("", 22)]
    model = helper.make_model(helper.make_graph([node], "g", ports[:1], ports[1:]), opset_imports=sets, ir_version=10)
    x = numpy.random.default_rng(9).integers(-2, 9, (31, 3)).astype(numpy.float32)
    x[:4, 0], x[4:9, 2], x[2:5, 1] = 0.5, numpy.nan, 5
    compared(model, {"x": x})


def test_results_whose_size_follows_from_data():
    """Of constants, and of numbers that are given at load; else the message says what must be known."""
    import smelt
    import smelt.onnx

    model = typed("m (float[2,3] x) => (int64 r) { r = NonZero (x) }")
    with pytest.raises(smelt.Error, match="the number of numbers that are not zero follows from operand 0"):
        smelt.onnx.compile_model(model)
    x = numpy.array([[0, 1, 2], [3, 0, 0]], numpy.float32)
    found = smelt.onnx.compile_model(model, sizes={"x": x})
    assert list(found.frozen) == ["x"] and found.session().run({"x": x})["r"].tolist() == [[0, 0, 1], [1, 2, 0]]
    with pytest.raises(smelt.Error, match="compile again"):
        found.session().run({"x": x * 0})
