"""Walks an ONNX graph and writes it in the text form: constants are folded, functions expanded, the rest is rows."""

from __future__ import annotations

import re
from typing import Any, Mapping, Optional

import numpy
import onnx
from onnx import defs

from ..text import Graph, Module, Value
from . import folding, functions
from .build import Builder, is_empty
from .call import Absent, Call, Known, Many, Thing, Traced
from .dims import Dim, is_known
from .refusal import NeedsKnown, Refusal
from .rows import ROWS, SAME, Row, Typed
from .ports import from_port, leaving, settle, to_port
from .types import ELEMENTS, Element, element

WORD = re.compile("[A-Za-z_][A-Za-z0-9_]*")
"""Names that the text form takes for symbols."""
CONTROL = {"If", "Loop", "Scan", "SequenceMap", "FlexAttention"}


class Importer:
    """Of one model, with the bounds of its symbols and those inputs whose numbers are known."""

    def __init__(
        self, model: onnx.ModelProto, bounds: Mapping[str, int], known: Mapping[str, numpy.ndarray], doubles: bool
    ) -> None:
        self.model = model
        self.symbols = {name: name if WORD.fullmatch(name) else f"size{i}" for i, name in enumerate(bounds)}
        self.bounds = {self.symbols[name]: upper for name, upper in bounds.items()}
        self.known = known
        self.doubles = doubles
        self.graph = Graph("main")
        self.builder = Builder(self.graph)
        self.versions = {
            opset.domain.replace("ai.onnx", "") if opset.domain == "ai.onnx" else opset.domain: opset.version
            for opset in model.opset_import
        }
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.rows: dict[str, int] = {}
        self.used: set[tuple[str, str]] = set()
        self._lifted: dict[int, tuple[Known, Value]] = {}

    # ---- the whole graph

    def inputs(self) -> dict[str, Thing]:
        weights = {tensor.name for tensor in self.model.graph.initializer}
        return {port.name: self._input(port) for port in self.model.graph.input if port.name not in weights}

    def _input(self, port: onnx.ValueInfoProto) -> Thing:
        if not port.type.HasField("tensor_type"):
            raise Refusal(f"the input '{port.name}', a {port.type.WhichOneof('value')}")
        kind = element(port.type.tensor_type.elem_type, self.doubles)
        depends = frozenset([port.name])
        if port.name in self.known:
            return Known(self._given(port.name, kind), kind, depends)
        shape = self.shape(port)
        if is_empty(shape):
            return Known(numpy.zeros(shape, kind.numpy), kind, depends)
        value = self.graph.input(port.name, kind.port, shape)
        value = from_port(self.builder, value, kind)
        self.builder.facts.ports[value.name] = port.name
        return Traced(value, kind, depends)

    def expect(self, port: str, rows: int) -> None:
        """Numbers of an input that are rows of a table, from its front or its back."""
        rows = min(rows, self.rows.get(port, rows))
        self.rows[port] = rows
        self.graph.attributes[port] = {"below": rows, "least": -rows}

    def _given(self, name: str, kind: Element) -> numpy.ndarray:
        array = numpy.asarray(self.known[name])
        if array.dtype != kind.numpy:
            raise Refusal(f"the input '{name}': sizes has {array.dtype}, expected {kind.numpy}")
        return array

    def shape(self, port: onnx.ValueInfoProto) -> tuple:
        if not port.type.tensor_type.HasField("shape"):
            raise Refusal(f"the input '{port.name}' has no shape")
        return tuple(self._size(size, port.name) for size in port.type.tensor_type.shape.dim)

    def _size(self, size: Any, name: str) -> Any:
        if size.HasField("dim_value"):
            return size.dim_value
        if size.dim_param not in self.symbols:
            raise Refusal(
                f"the size '{size.dim_param}' of the input '{name}' has no bound; give max={{{size.dim_param!r}: ...}}"
            )
        return Dim.symbol(self.symbols[size.dim_param])

    def run(self, graph: onnx.GraphProto, scope: dict[str, Thing]) -> list[Thing]:
        for tensor in graph.initializer:
            scope[tensor.name] = self.constant(onnx.numpy_helper.to_array(tensor), tensor.data_type, tensor.name)
        self.refuse_sparse(graph)
        for node in graph.node:
            self.run_node(node, scope, self.versions)
        return [scope[port.name] for port in graph.output]

    @staticmethod
    def refuse_sparse(graph: onnx.GraphProto) -> None:
        if graph.sparse_initializer:
            raise Refusal("sparse initializers")

    def constant(self, array: numpy.ndarray, code: int, name: Optional[str] = None) -> Known:
        return Known(numpy.asarray(array), element(code, self.doubles), name=name)

    # ---- nodes

    def run_node(self, node: onnx.NodeProto, scope: dict[str, Thing], versions: Mapping[str, int]) -> None:
        inputs = [scope[name] if name else None for name in node.input]
        domain = "" if node.domain == "ai.onnx" else node.domain
        try:
            results = self._results(domain, node, inputs, versions, scope)
        except Refusal as refusal:
            raise (
                refusal if refusal.why.startswith("operator ") else Refusal(f"operator {node.op_type}: {refusal.why}")
            ) from None
        except NeedsKnown as need:
            raise need.within(node.op_type) from None
        for name, result in zip(node.output, results):
            if name and result is not None:
                scope[name] = result

    def _results(
        self, domain: str, node: onnx.NodeProto, inputs: list, versions: Mapping[str, int], scope: dict
    ) -> list:
        row = ROWS.get((domain, node.op_type))
        if (domain, node.op_type) in self.functions:
            return functions.call(self, self.functions[domain, node.op_type], node, inputs, None)
        version = versions.get(domain, 1)
        depends = frozenset().union(*(thing.inputs for thing in inputs if thing is not None), frozenset())
        if node.op_type not in CONTROL and (row is None or row.folds):
            folded = folding.fold(node, inputs, domain, version)
            if folded is not None:
                return [None if known is None else known._replace(inputs=depends) for known in folded]
        call = Call(self, node, inputs, version, scope, row is not None and row.narrow)
        if row is None or row.otherwise and row.otherwise(call):
            return self._expand(domain, node, inputs, version, scope)
        self.used.add((domain, node.op_type))
        self.graph.source = node.name or (node.output[0] if node.output else node.op_type)
        found = row.build(
            call, *(call.x(i) for i in range(min(row.operands, len(inputs)) if row.operands > 100 else row.operands))
        )
        found = (
            found
            if isinstance(found, (list, tuple)) and not isinstance(found, (Value, Typed, Known, Traced, Many, Absent))
            else [found]
        )
        return [self.finish(each, row, call, depends) for each in found]

    def finish(self, found: Any, row: Row, call: Call, depends: frozenset) -> Optional[Thing]:
        if found is None or isinstance(found, (Known, Traced, Many, Absent)):
            return found
        name = found.element if isinstance(found, Typed) else row.out
        value = found.value if isinstance(found, Typed) else found
        kind = call.element(0) if name == SAME else ELEMENTS[name]
        if not value.name:
            if all(is_known(size) for size in value.shape):
                return Known(numpy.zeros(value.shape, kind.numpy), kind, depends)
            return Traced(value, kind, depends)
        return Traced(settle(self.builder, value, kind, row.exact), kind, depends)

    def _expand(self, domain: str, node: onnx.NodeProto, inputs: list, version: int, scope: dict) -> list:
        found = functions.body(node, inputs, domain, version)
        if found is None:
            raise Refusal(f"operator {domain + '.' if domain else ''}{node.op_type}")
        return functions.call(self, found, node, inputs, version)

    def default(self, node: onnx.NodeProto, name: str, version: int) -> Any:
        schema = defs.get_schema(node.op_type, version, node.domain)
        attribute = schema.attributes.get(name)
        if attribute is None or not attribute.default_value.name:
            return None
        return onnx.helper.get_attribute_value(attribute.default_value)

    # ---- values

    def lift(self, thing: Thing, narrow: bool = True) -> Value:
        """As a value of the graph; the same constant is written once. `narrow`: floats of 16 bits stay that."""
        value = self._value(thing)
        return value if narrow or not thing.element.is_float else self.builder.cast(value, thing.element.computed)

    def _value(self, thing: Thing) -> Value:
        if isinstance(thing, Traced):
            return thing.value
        if not isinstance(thing, Known):
            raise Refusal("a sequence or an optional as an operand")
        if id(thing.array) not in self._lifted:
            self._lifted[id(thing.array)] = (thing, self._written(thing))
        return self._lifted[id(thing.array)][1]

    def _written(self, thing: Known) -> Value:
        array = thing.array
        if array.size == 0:
            return Value("", thing.element.held, array.shape)
        if thing.is_symbolic:
            return settle(self.builder, self.builder.sizes(array), thing.element, True)
        if thing.element.is_float:
            return settle(self.builder, self.builder.table(array, thing.name), thing.element, True)
        return self.builder.table(array)


class Imported:
    """What came of a model: its text, what goes in and out, and what is known of both."""

    def __init__(self, importer: Importer, inputs: Mapping[str, Thing], results: Mapping[str, Thing]) -> None:
        self.operators = importer.used
        self.symbols = importer.symbols
        self.inputs = {name: (thing.element, thing.shape) for name, thing in inputs.items()}
        known = {name: thing.array for name, thing in inputs.items() if isinstance(thing, Known)}
        self.frozen = {name: array for name, array in known.items() if array.size}
        self.ports = [name for name in inputs if name not in known]
        self.outputs = list(results)
        self.results: list[Traced] = []
        self._places = {name: self._place(importer, name, thing) for name, thing in results.items()}
        self.module = Module(importer.bounds, list(importer.builder.parameters.values()), [importer.graph])

    def _place(self, importer: Importer, name: str, thing: Thing) -> Any:
        """A constant, or the number of the plan's result; lists of these for sequences."""
        if isinstance(thing, Absent):
            raise Refusal(f"the output '{name}', an optional that holds nothing")
        if isinstance(thing, Many):
            return [self._place(importer, name, part) for part in thing.parts]
        if isinstance(thing, Known) and not thing.is_symbolic:
            return thing
        value = to_port(importer.builder, importer.lift(thing), thing.element)
        importer.graph.result(f"r{len(self.results)}", value)
        self.results.append(thing)
        return len(self.results) - 1

    def collect(self, found: Mapping[str, numpy.ndarray]) -> dict[str, Any]:
        """ONNX's outputs of the plan's results."""
        return {name: self._collected(name, place, found) for name, place in self._places.items()}

    def _collected(self, name: str, place: Any, found: Mapping[str, numpy.ndarray]) -> Any:
        if isinstance(place, list):
            return [self._collected(name, each, found) for each in place]
        if isinstance(place, Known):
            return place.array
        return leaving(found[f"r{place}"], self.results[place].element, name)


def import_model(
    model: onnx.ModelProto, bounds: Mapping[str, int], sizes: Mapping[str, Any], doubles: bool
) -> Imported:
    """Inputs whose numbers the graph's sizes follow from are taken from `sizes`, those alone, one after the other."""
    known: dict[str, numpy.ndarray] = {}
    while True:
        importer = Importer(model, bounds, known, doubles)
        try:
            inputs = importer.inputs()
            outputs = importer.run(model.graph, dict(inputs))
            return Imported(importer, inputs, {port.name: thing for port, thing in zip(model.graph.output, outputs)})
        except NeedsKnown as need:
            known |= _given(need, known, sizes)


def _given(need: NeedsKnown, known: Mapping[str, Any], sizes: Mapping[str, Any]) -> dict[str, numpy.ndarray]:
    if not need.inputs:
        raise Refusal(f"{need.what} follows from symbolic sizes, and sets others: give these sizes numbers in the model")
    wanted = sorted(need.inputs - set(known))
    missing = [name for name in wanted if name not in sizes]
    shown = [f"{name!r}: ..." for name in missing]
    if missing or not wanted:
        raise Refusal(f"{need.what} sets sizes, and depends on inputs of the graph: give sizes={{{', '.join(shown)}}}")
    return {name: numpy.asarray(sizes[name]) for name in wanted}
