"""Small models as exporters write them, made of onnx's own text form."""

import numpy
from onnx import numpy_helper, parser

# An encoder layer: shapes are computed from the input's, as exporters do it.
ENCODER = """
<ir_version: 10, opset_import: ["" : 18]>
encoder (int64[batch, length] ids, bool[batch, length] mask) => (float[batch, length, 24] hidden, float[batch, 24] pooled)
<int64[1] zero = {0}, int64[1] one = {1}, int64 zero_ = {0}, int64 one_ = {1}, int64[1] heads = {3}, int64[1] width = {8}, int64[1] all = {-1},
 float half = {0.5}, float root2 = {1.4142135}, float unit = {1.0}, float scale = {0.35355339}, float low = {-10000.0}>
{
  words = Gather (table, ids)
  shape = Shape (ids)
  length_ = Gather <axis = 0> (shape, one_)
  steps = Range (zero_, length_, one_)
  steps_ = Unsqueeze (steps, zero)
  places = Gather (positions, steps_)
  x = Add (words, places)
  n1 = LayerNormalization <axis = -1, epsilon = 0.00001> (x, scale1, bias1)
  qkv = MatMul (n1, w_qkv)
  q, k, v = Split <axis = -1, num_outputs = 3> (qkv)
  batch_ = Gather <axis = 0> (shape, zero_)
  batch1 = Unsqueeze (batch_, zero)
  length1 = Unsqueeze (length_, zero)
  split = Concat <axis = 0> (batch1, length1, heads, width)
  q4 = Reshape (q, split)
  k4 = Reshape (k, split)
  v4 = Reshape (v, split)
  qt = Transpose <perm = [0, 2, 1, 3]> (q4)
  kt = Transpose <perm = [0, 2, 3, 1]> (k4)
  vt = Transpose <perm = [0, 2, 1, 3]> (v4)
  raw = MatMul (qt, kt)
  scores = Mul (raw, scale)
  mask_f = Cast <to = 1> (mask)
  gone = Sub (unit, mask_f)
  bias = Mul (gone, low)
  axes12 = Concat <axis = 0> (one, two)
  bias4 = Unsqueeze (bias, axes12)
  biased = Add (scores, bias4)
  weights = Softmax <axis = -1> (biased)
  mixed = MatMul (weights, vt)
  mixed_t = Transpose <perm = [0, 2, 1, 3]> (mixed)
  merged_shape = Concat <axis = 0> (batch1, length1, all)
  merged = Reshape (mixed_t, merged_shape)
  out = MatMul (merged, w_out)
  res = Add (x, out)
  n2 = LayerNormalization <axis = -1, epsilon = 0.00001> (res, scale1, bias1)
  up = MatMul (n2, w_up)
  scaled = Div (up, root2)
  erf = Erf (scaled)
  erf1 = Add (erf, unit)
  half_up = Mul (up, half)
  act = Mul (half_up, erf1)
  down = MatMul (act, w_down)
  hidden = Add (res, down)
  first = Slice (hidden, zero, one, one)
  first_ = Squeeze (first, one)
  pooled = Tanh (first_)
}
"""

# A layer with Attention and RotaryEmbedding as operators, a cache and half precision.
DECODER = """
<ir_version: 10, opset_import: ["" : 23]>
decoder ({float}[batch, length, 32] x, {float}[batch, 2, past, 8] past_key, {float}[batch, 2, past, 8] past_value, int64[batch, length] places)
 => ({float}[batch, length, 32] y, {float}[batch, 2, total, 8] key, {float}[batch, 2, total, 8] value)
{
  n = RMSNormalization (x, scale)
  q = MatMul (n, w_q)
  k = MatMul (n, w_k)
  v = MatMul (n, w_v)
  q_turned = RotaryEmbedding <num_heads = 4> (q, cos, sin, places)
  k_turned = RotaryEmbedding <num_heads = 2> (k, cos, sin, places)
  mixed, key, value = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1> (q_turned, k_turned, v, , past_key, past_value)
  out = MatMul (mixed, w_q)
  y = Add (x, out)
}
"""


def weights(model, seed, **shapes):
    """Random weights of the model's names; `kind`: their type."""
    draw = numpy.random.default_rng(seed)
    kind = shapes.pop("kind", numpy.float32)
    for name, shape in shapes.items():
        values = (
            shape
            if isinstance(shape, numpy.ndarray)
            else draw.normal(size=shape) / numpy.sqrt(shape[-2] if len(shape) > 1 else 1)
        )
        model.graph.initializer.append(
            numpy_helper.from_array(values.astype(kind) if values.dtype.kind == "f" else values, name)
        )
    return model


def encoder(seed=1):
    shapes = dict(
        table=(50, 24), positions=(64, 24), scale1=(24,), bias1=(24,), w_qkv=(24, 72), w_out=(24, 24), w_up=(24, 48)
    )
    return weights(parser.parse_model(ENCODER), seed, **shapes, w_down=(48, 24), two=numpy.array([2]))


def decoder(kind=numpy.float32, seed=2):
    name = {"float32": "float", "float16": "float16"}[numpy.dtype(kind).name]
    angles = numpy.outer(numpy.arange(64), 10000.0 ** -(numpy.arange(4) / 4))
    shapes = dict(scale=(32,), w_q=(32, 32), w_k=(32, 16), w_v=(32, 16), cos=numpy.cos(angles), sin=numpy.sin(angles))
    return weights(parser.parse_model(DECODER.replace("{float}", name)), seed, kind=kind, **shapes)
