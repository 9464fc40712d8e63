"""Numbers of ONNX's tensors."""

from __future__ import annotations

import math

import numpy
import onnx
from onnx import numpy_helper

from .refusal import Refusal


def array_of(tensor: onnx.TensorProto, what: str) -> numpy.ndarray:
    """A Refusal where the tensor does not hold the numbers that its type and shape ask for."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise Refusal(f"{what}: its numbers lie in another file: give the path of the model, not the model")
    shape = list(tensor.dims)
    if any(size < 0 for size in shape):
        raise Refusal(f"{what}: the shape {shape} has a negative size")
    try:
        array = numpy_helper.to_array(tensor)
    except Exception as error:  # ValueError, TypeError or KeyError, by the field that is wrong
        raise Refusal(f"{what}: its data is none of {math.prod(shape)} elements: {_short(error)}") from error
    return numpy.asarray(array)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
