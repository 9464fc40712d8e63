"""Constants of constants: numbers by onnx's reference, sizes by NumPy on polynomials."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Optional, Sequence

import numpy
import onnx
from onnx import reference

from ..builder.sizes import Ranges, Size, is_known
from .call import Known, Thing
from .definitions import Types, elements_of
from .refusal import Refusal
from .types import INT64, element_of

RANDOM = {
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Bernoulli",
    "Multinomial",
    "Dropout",
}


MOST_FOLDED = 2**22
"""Elements that a constant may have which is larger than its operands."""


def is_worthwhile(inputs: Sequence[Optional[Thing]], types: Types) -> bool:
    """Not of what would blow up small constants, such as a table of one number: kernels compute that."""
    given = max((thing.array.size for thing in inputs if isinstance(thing, Known)), default=0)
    return elements_of(types) <= max(given, MOST_FOLDED)


def fold(node: onnx.NodeProto, inputs: Sequence[Optional[Thing]], domain: str, version: int) -> Optional[list]:
    """The results where all operands are known; else None."""
    if node.op_type in RANDOM or not all(thing is None or isinstance(thing, Known) for thing in inputs):
        return None
    if any(thing is not None and thing.is_symbolic for thing in inputs):
        return _fold_sizes(node, inputs)
    try:
        return _run(node, [t if t is None else t.array for t in inputs], domain, version)
    except Refusal:
        raise
    except Exception:
        return None


def _run(node: onnx.NodeProto, arrays: Sequence[Any], domain: str, version: int) -> Optional[list]:
    names = [name for name in node.input if name]
    graph = onnx.helper.make_graph(
        [node],
        "constant",
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in dict.fromkeys(names)],
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in node.output if name],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(domain, version)])
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        feeds = {name: array for name, array in zip(node.input, arrays) if name}
        found = iter(reference.ReferenceEvaluator(model).run(None, feeds))
    results = [next(found) if name else None for name in node.output]
    if any(isinstance(each, (list, str)) or each is None and name for each, name in zip(results, node.output)):
        return None
    return [
        None if each is None else Known(numpy.asarray(each), element_of(numpy.asarray(each).dtype)) for each in results
    ]


# ---- sizes

SIZES: dict[str, Callable[..., numpy.ndarray]] = {
    "Add": lambda node, a, b: a + b,
    "Sub": lambda node, a, b: a - b,
    "Mul": lambda node, a, b: a * b,
    "Div": lambda node, a, b: a // b,
    "Identity": lambda node, a: a,
    "Cast": lambda node, a: a,
    "Concat": lambda node, *parts: numpy.concatenate(parts, axis=_attribute(node, "axis", 0)),
    "Gather": lambda node, a, i: numpy.take(a, i.astype(numpy.int64), axis=_attribute(node, "axis", 0)),
    "Unsqueeze": lambda node, a, axes=None: _unsqueeze(a, _attribute(node, "axes", axes)),
    "Squeeze": lambda node, a, axes=None: _squeeze(a, _attribute(node, "axes", axes)),
    "Reshape": lambda node, a, shape: a.reshape(shape.astype(numpy.int64)),
    "Slice": lambda node, a, *places: _slice(node, a, *places),
    "ReduceProd": lambda node, a, *rest: numpy.prod(a, keepdims=bool(_attribute(node, "keepdims", 1))),
    "Where": lambda node, c, a, b: numpy.where(c, a, b),
    "Equal": lambda node, a, b: numpy.asarray(numpy.frompyfunc(_are_equal, 2, 1)(a, b)).astype(bool),
}


def _are_equal(left: Size, right: Size) -> bool:
    """Throws ValueError for sizes that are equal in some runs and not in others."""
    difference = left - right
    if is_known(difference):
        return difference == 0
    low, high = Ranges().of(difference)
    if low > 0 or high < 0:
        return False
    raise ValueError(f"{left} and {right} may be equal")


def _attribute(node: onnx.NodeProto, name: str, default: Any) -> Any:
    return next((onnx.helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def _unsqueeze(a: numpy.ndarray, axes: Any) -> numpy.ndarray:
    return numpy.expand_dims(a, tuple(int(axis) for axis in axes))


def _squeeze(a: numpy.ndarray, axes: Any) -> numpy.ndarray:
    return numpy.squeeze(a, None if axes is None else tuple(int(axis) for axis in axes))


def _slice(node: onnx.NodeProto, a: numpy.ndarray, *places: numpy.ndarray) -> numpy.ndarray:
    starts, ends, axes, steps = (list(places) + [None] * 4)[:4]
    starts, ends = _attribute(node, "starts", starts), _attribute(node, "ends", ends)
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    cut = [slice(None)] * a.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        cut[int(axis)] = slice(int(start), int(end), int(step))
    return a[tuple(cut)]


def _fold_sizes(node: onnx.NodeProto, inputs: Sequence[Optional[Known]]) -> Optional[list]:
    if node.op_type not in SIZES or node.op_type == "Cast" and _attribute(node, "to", 0) not in (6, 7):
        return None
    try:
        with_objects = [None if t is None else t.array for t in inputs]
        found = numpy.asarray(SIZES[node.op_type](node, *with_objects))
    except (ValueError, TypeError, IndexError):
        return None
    kind = INT64 if node.op_type != "Equal" else element_of(numpy.dtype(bool))
    if found.dtype == object and all(is_known(each) for each in found.flat):
        found = found.astype(numpy.int64)
    return [Known(found, kind)]
