"""What ONNX itself says of a node: whether its operands and attributes fit the operator, and what its results are.

Rows may count on it: they see operands of types that the operator takes, attributes of the declared types, axes in
range, and sizes that fit one another as far as they are known.
"""

from __future__ import annotations

import functools
from typing import Mapping, Optional, Sequence

import numpy
import onnx
from onnx import defs, shape_inference

from ..builder.sizes import is_known
from .call import Known, Many, Thing, Traced
from .choices import choices_of
from .refusal import Refusal

Attribute = onnx.AttributeProto
MOST_DATA = 256
"""Larger operands set no sizes."""
MISDEFINED = {"Range", "STFT"}
"""Operators whose types ONNX infers otherwise than its own models and its reference have them: bounds of a Range may be
vectors of one number there, and a onesided STFT has half of the frequencies."""
OPTIONAL = {"OptionalGetElement", "OptionalHasElement"}
"""Operators on optionals, for which what these hold stands."""
Types = Mapping[str, onnx.TypeProto]


def canonical(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


@functools.lru_cache(maxsize=None)
def newest(domain: str) -> int:
    """The newest operator set that the package onnx knows of a domain; 0 of a domain that it does not know."""
    return max((s.since_version for s in defs.get_all_schemas_with_history() if s.domain == domain), default=0)


def newest_set(domain: str) -> int:
    return defs.onnx_opset_version() if domain == "" else newest(domain)


def check_versions(versions: Mapping[str, int]) -> None:
    for domain, version in versions.items():
        known = newest_set(domain)
        if known and domain == "" and not 1 <= version <= known:
            own = f"onnx {onnx.__version__} knows 1 to {known}"
            raise Refusal(f"the operator set {version}: {own}; update onnx or the model")


@functools.lru_cache(maxsize=None)
def schema_of(operator: str, domain: str, version: int) -> Optional[defs.OpSchema]:
    """None where ONNX does not define the operator."""
    if not defs.has(operator, domain):
        return None
    try:
        return defs.get_schema(operator, version, domain)
    except defs.SchemaError:
        raise Refusal(f"there is none in operator set {version} of '{domain or 'ai.onnx'}'") from None


def results_of(
    node: onnx.NodeProto, inputs: Sequence[Optional[Thing]], domain: str, versions: Mapping[str, int]
) -> Types:
    """The types of the results by name, as far as ONNX knows them; a Refusal where the node does not fit."""
    if domain not in versions and defs.has(node.op_type, domain):
        raise Refusal(f"the model imports no operator set of '{domain or 'ai.onnx'}'")
    schema = schema_of(node.op_type, domain, versions.get(domain, 1))
    if schema is None:
        return {}
    check_attributes(node, schema)
    check_counts(node, schema)
    if node.op_type in MISDEFINED | OPTIONAL and not domain:
        return {}
    node = without(node, inputs)
    types = _types(node, inputs)
    if types is None or any(a.type in (Attribute.GRAPH, Attribute.GRAPHS) for a in node.attribute):
        return {}
    return _inferred(schema, node, types, _data(node, inputs), versions)


def _inferred(schema: defs.OpSchema, node: onnx.NodeProto, types: Types, data: dict, versions: Mapping) -> Types:
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in versions.items()]
    try:
        return shape_inference.infer_node_outputs(schema, node, types, data, opset_imports=imports)
    except (onnx.checker.ValidationError, shape_inference.InferenceError, ValueError) as error:
        reason = str(error).split("\n")[0].replace("[ShapeInferenceError] ", "").replace("[TypeInferenceError] ", "")
        raise Refusal(f"{reason}; given {described(inputs_of(node, types))}") from None


def inputs_of(node: onnx.NodeProto, types: Types) -> list[str]:
    return [text_of(types[name]) if name else "nothing" for name in node.input]


def described(operands: Sequence[str]) -> str:
    return ", ".join(operands) if operands else "no operands"


def text_of(type_: onnx.TypeProto) -> str:
    """FLOAT[2,N]"""
    if type_.WhichOneof("value") != "tensor_type":
        return str(type_.WhichOneof("value"))
    sizes = [str(d.dim_value) if d.HasField("dim_value") else "?" for d in type_.tensor_type.shape.dim]
    return f"{onnx.TensorProto.DataType.Name(type_.tensor_type.elem_type)}[{','.join(sizes)}]"


# ---- counts and attributes, also of nodes with graphs inside


def check_counts(node: onnx.NodeProto, schema: defs.OpSchema) -> None:
    for what, names, least, most in (
        ("operands", node.input, schema.min_input, schema.max_input),
        ("results", node.output, schema.min_output, schema.max_output),
    ):
        if not least <= len(names) <= most:
            expected = f"{least}" if least == most else f"{least} to {most}" if most < 1000 else f"at least {least}"
            raise Refusal(f"{len(names)} {what}, expected {expected}")
    for name, port in zip(node.input, schema.inputs):
        if not name and port.option == defs.OpSchema.FormalParameterOption.Single:
            raise Refusal(f"no operand '{port.name}'")


def check_attributes(node: onnx.NodeProto, schema: defs.OpSchema) -> None:
    given = [attribute.name for attribute in node.attribute]
    for name in given:
        if given.count(name) > 1:
            raise Refusal(f"two attributes '{name}'")
    for attribute in node.attribute:
        check_attribute(attribute, schema)
    for name, rule in schema.attributes.items():
        if rule.required and name not in given:
            raise Refusal(f"no attribute '{name}'")


def check_attribute(attribute: Attribute, schema: defs.OpSchema) -> None:
    rule = schema.attributes.get(attribute.name)
    if rule is None:
        raise Refusal(f"it has no attribute '{attribute.name}'; there are {', '.join(schema.attributes) or 'none'}")
    expected = str(rule.type).rsplit(".", 1)[-1]
    found = Attribute.AttributeType.Name(attribute.type)
    if found != expected:
        raise Refusal(f"the attribute '{attribute.name}' is of type {found}, expected {expected}")
    choices = choices_of(schema.name, attribute.name)
    if choices and not attribute.ref_attr_name and attribute.s.decode(errors="replace") not in choices:
        given = attribute.s.decode(errors="replace")
        raise Refusal(f"the attribute '{attribute.name}' is '{given}', expected {' or '.join(choices)}")


# ---- operands as ONNX describes them


def _types(node: onnx.NodeProto, inputs: Sequence[Optional[Thing]]) -> Optional[dict[str, onnx.TypeProto]]:
    """None where there is one that has no type before the model runs, such as an empty sequence."""
    types = {name: type_of(thing) for name, thing in zip(node.input, inputs) if name}
    return None if None in types.values() else types


def without(node: onnx.NodeProto, inputs: Sequence[Optional[Thing]]) -> onnx.NodeProto:
    """The node without the names of operands that a function's call has left out."""
    if all(thing is not None or not name for name, thing in zip(node.input, inputs)):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = ["" if thing is None else name for name, thing in zip(node.input, inputs)]
    return copy


def type_of(thing: Thing) -> Optional[onnx.TypeProto]:
    if isinstance(thing, (Known, Traced)):
        code = onnx.TensorProto.DataType.Value(thing.element.name)
        return onnx.helper.make_tensor_type_proto(code, [size if is_known(size) else None for size in thing.shape])
    if isinstance(thing, Many) and thing.parts and isinstance(thing.parts[0], (Known, Traced)):
        code = onnx.TensorProto.DataType.Value(thing.parts[0].element.name)
        return onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(code, None))
    return None


def _data(node: onnx.NodeProto, inputs: Sequence[Optional[Thing]]) -> dict[str, onnx.TensorProto]:
    return {
        name: onnx.numpy_helper.from_array(thing.array, name)
        for name, thing in zip(node.input, inputs)
        if name and isinstance(thing, Known) and thing.array.dtype.kind in "biuf" and thing.array.size <= MOST_DATA
    }


# ---- results


def elements_of(types: Types) -> int:
    """The number of elements of the largest result, 0 where none is known."""
    counts = [0]
    for each in types.values():
        dims = each.tensor_type.shape.dim if each.tensor_type.HasField("shape") else ()
        if all(dim.HasField("dim_value") for dim in dims):
            counts.append(int(numpy.prod([dim.dim_value for dim in dims], dtype=object)))
    return max(counts)


def check_result(name: str, found: Optional[Thing], types: Types) -> None:
    """A row that disagrees with ONNX's definition has misread the node."""
    if name not in types or not isinstance(found, (Known, Traced)):
        return
    expected, own = types[name].tensor_type, type_of(found).tensor_type
    if types[name].WhichOneof("value") != "tensor_type":
        return
    fits = expected.elem_type in (0, own.elem_type)
    if fits and expected.HasField("shape"):
        fits = len(expected.shape.dim) == len(own.shape.dim) and all(map(_may_be, expected.shape.dim, own.shape.dim))
    if not fits:
        raise Refusal(f"its result '{name}' is {text_of(types[name])} by ONNX, and would be {text_of(type_of(found))}")


def _may_be(left: onnx.TensorShapeProto.Dimension, right: onnx.TensorShapeProto.Dimension) -> bool:
    return not (left.HasField("dim_value") and right.HasField("dim_value")) or left.dim_value == right.dim_value
