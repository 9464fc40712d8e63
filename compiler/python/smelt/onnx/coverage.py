"""Which operators of a model there is no row for."""

from __future__ import annotations

from typing import Iterator

import onnx
from onnx import defs

from .model import ModelLike, load
from .rows import ROWS


class Coverage(dict):
    """How often each operator occurs that there is no row for, by name."""

    def __str__(self) -> str:
        if not self:
            return "every operator has a row"
        return "\n".join(f"{name}: {count}" for name, count in sorted(self.items()))


def coverage(model: ModelLike) -> Coverage:
    """All operators without a row at once. An operator with a row may still be refused for a type or an attribute."""
    proto = load(model)
    own = {(f.domain, f.name) for f in proto.functions}
    versions = {o.domain: o.version for o in proto.opset_import}
    missing = Coverage()
    nodes = [node for graph in [proto.graph, *proto.functions] for node in nodes_of(graph)]
    for node in nodes:
        domain = "" if node.domain == "ai.onnx" else node.domain
        if (
            (domain, node.op_type) in own
            or (domain, node.op_type) in ROWS
            or is_defined_by_others(node, domain, versions)
        ):
            continue
        name = f"{domain}.{node.op_type}" if domain else node.op_type
        missing[name] = missing.get(name, 0) + 1
    return missing


def nodes_of(graph: object) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in ([attribute.g] if attribute.type == attribute.GRAPH else attribute.graphs):
                yield from nodes_of(inner)


def is_defined_by_others(node: onnx.NodeProto, domain: str, versions: dict[str, int]) -> bool:
    if not defs.has(node.op_type, domain):
        return False
    schema = defs.get_schema(node.op_type, versions.get(domain, 1), domain)
    return schema.has_function or schema.has_context_dependent_function
