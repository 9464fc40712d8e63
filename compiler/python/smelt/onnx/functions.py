"""Operators that ONNX defines by others, and functions of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence

import onnx

from .call import Thing
from .definitions import canonical, schema_of, type_of
from .refusal import Refusal

if TYPE_CHECKING:
    from .importer import Importer


def body(
    node: onnx.NodeProto, inputs: Sequence[Optional[Thing]], domain: str, version: int
) -> Optional[onnx.FunctionProto]:
    """What ONNX says that the operator does, for operands of these types."""
    schema = schema_of(node.op_type, domain, version)
    if schema is None:
        return None
    if schema.has_function:
        return schema.function_body
    if not schema.has_context_dependent_function:
        return None
    types = [(None if thing is None else type_of(thing)) or onnx.TypeProto() for thing in inputs]
    known = [v for v in schema.context_dependent_function_opset_versions if v <= max(version, schema.since_version)]
    bytes_ = schema.get_context_dependent_function_with_opset_version(
        max(known), node.SerializeToString(), [each.SerializeToString() for each in types]
    )
    found = onnx.FunctionProto()
    found.ParseFromString(bytes_)
    return found


def call(
    importer: Importer, function: onnx.FunctionProto, node: onnx.NodeProto, inputs: Sequence, version: Optional[int]
) -> list:
    """Runs a body with the attributes of the call in place of those that it names."""
    given = {a.name: a for a in node.attribute} | {}
    for default in function.attribute_proto:
        given.setdefault(default.name, default)
    if version is not None:
        for name, attribute in schema_of(node.op_type, canonical(node.domain), version).attributes.items():
            if attribute.default_value.name:
                given.setdefault(name, attribute.default_value)
    if len(inputs) > len(function.input):
        raise Refusal(f"{len(inputs)} operands of a function of {len(function.input)}")
    scope = dict(zip(function.input, inputs))
    scope |= {name: None for name in list(function.input)[len(inputs) :]}
    versions = dict(importer.versions) | {canonical(o.domain): o.version for o in function.opset_import}
    if version is not None and "" in versions and not node.domain:
        versions[""] = max(versions[""], 1)
    importer.run_nodes([bound(inner, given) for inner in function.node], scope, versions)
    return [scope.get(name) for name in function.output[: len(node.output)]]


def bound(node: onnx.NodeProto, given: dict[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """The node with attributes that refer to the function's replaced."""
    if not any(a.ref_attr_name or a.type in (a.GRAPH, a.GRAPHS) for a in node.attribute):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in given:
                copy.attribute.add().CopyFrom(given[attribute.ref_attr_name])
                copy.attribute[-1].name = attribute.name
            continue
        copy.attribute.add().CopyFrom(attribute)
        if attribute.type == attribute.GRAPH:
            inner = copy.attribute[-1].g
            nodes = [bound(each, given) for each in attribute.g.node]
            del inner.node[:]
            inner.node.extend(nodes)
    return copy
