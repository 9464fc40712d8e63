"""Walks an ONNX graph and writes it in the text form: constants are folded, functions expanded, the rest is rows."""

from __future__ import annotations

import itertools
import re
from typing import Any, Collection, Iterable, Mapping, Optional, Sequence

import numpy
import onnx

from .._native import GraphBuilder
from ..builder import Value
from ..builder.sizes import is_known
from ..errors import Error
from ..text import Module
from . import definitions, folding, functions
from .build import Builder, is_empty
from .call import Absent, Call, Known, Many, Thing, Traced
from .definitions import Types
from .formats import FORMATS
from .inputs import Inputs, leaves
from .names import check_names, place_of, refuse_twins, unfit
from .ports import leaving, settle, to_port
from .refusal import NeedsKnown, Refusal
from .rows import ROWS, SAME, Row, Typed
from .tensors import array_of
from .types import ELEMENTS, WIDE, element
from .unsupported import refused

WORD = re.compile("[A-Za-z_][A-Za-z0-9_]*")
"""Names that the text form takes for symbols."""
RESERVED = {"dim", "ceil_div", "nan", "inf"}
PLACES = {f"{__package__}.operators.{name}" for name in ("indexing", "resize", "sampling", "sequences", "windows")}
"""Modules whose rows count places of elements, which have 32 bits."""
CODES = onnx.TensorProto.DataType.items()
FLOAT_CODES = {code for name, code in CODES if name in ELEMENTS and ELEMENTS[name].is_float}
CONTROL = {"If", "Loop", "Scan", "SequenceMap", "FlexAttention"}


MODULAR = frozenset(
    "Add BitCast BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Compress Concat CumSum DepthToSpace Equal Expand "
    "Flatten Gather GatherElements GatherND Identity Mul Pad ReduceSum Reshape ScatterElements ScatterND Shape Size Slice "
    "SpaceToDepth Split Squeeze Sub Sum Tile Transpose Trilu Unsqueeze Where".split()
)
"""Operators that do the same with a sign and without: modulo 2^64."""


def _has_wide(inputs: Sequence[Optional[Thing]], types: Types) -> bool:
    """Whether an operand or a result of an operator is of integers that 32 bits may not hold."""
    results = [each.tensor_type.elem_type for each in types.values() if each.WhichOneof("value") == "tensor_type"]
    wide = [onnx.TensorProto.DataType.Value(kind.name) for kind in WIDE]
    return any(getattr(thing, "element", None) in WIDE for thing in inputs) or any(code in wide for code in results)


def symbol_names(sizes: Iterable[str]) -> dict[str, str]:
    """What the text form calls the model's symbolic sizes: their own names, where these are words of it."""
    taken = set(sizes)
    fresh = (name for name in map("size{}".format, itertools.count()) if name not in taken)
    return {name: name if WORD.fullmatch(name) and name not in RESERVED else next(fresh) for name in sizes}


class Importer:
    """Of one model, with the bounds of its symbols, those inputs whose numbers are known, and a sample of inputs."""

    def __init__(
        self,
        model: onnx.ModelProto,
        bounds: Mapping[str, int],
        known: Collection[str],
        sample: Mapping[str, Any],
        doubles: bool,
    ) -> None:
        self.model = model
        self.symbols = symbol_names(bounds)
        self.bounds = {self.symbols[name]: upper for name, upper in bounds.items()}
        self.known = known
        self.sample = sample
        self.doubles = doubles
        self.graph = GraphBuilder()
        self.builder = Builder(self.graph, self.bounds)
        self.versions = {definitions.canonical(o.domain): o.version for o in model.opset_import}
        definitions.check_versions(self.versions)
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.rows: dict[str, int] = {}
        self.used: set[tuple[str, str]] = set()
        self._lifted: dict[int, tuple[Known, Value]] = {}

    # ---- the whole graph

    def inputs(self) -> dict[str, Thing]:
        graph = self.model.graph
        for what, names in (
            ("inputs", [port.name for port in graph.input]),
            ("initializers", [tensor.name for tensor in graph.initializer]),
            ("outputs", [port.name for port in graph.output]),
        ):
            refuse_twins(what, names)
        weights = {tensor.name for tensor in graph.initializer}
        ports = {port.name: port for port in graph.input if port.name not in weights}
        return Inputs(self, self.known, self.sample, self.symbols).things(ports)

    def expect(self, port: str, rows: int) -> None:
        """Numbers of an input that are rows of a table, from its front or its back."""
        rows = min(rows, self.rows.get(port, rows))
        self.rows[port] = rows
        self.graph.set_range(port, -rows, rows)

    def run(self, graph: onnx.GraphProto, scope: dict[str, Thing]) -> list[Thing]:
        for tensor in graph.initializer:
            scope[tensor.name] = self.weight(tensor)
        if graph.sparse_initializer:
            raise Refusal("sparse initializers")
        self.run_nodes(graph.node, scope, self.versions)
        return [self._made(port.name, scope) for port in graph.output]

    @staticmethod
    def _made(name: str, scope: Mapping[str, Thing]) -> Thing:
        if scope.get(name) is None:
            raise Refusal(f"the output '{name}' is made by no node")
        return scope[name]

    def weight(self, tensor: onnx.TensorProto) -> Known:
        place = f"the initializer '{tensor.name}'"
        try:
            kind = element(tensor.data_type, self.doubles)
        except Refusal as refusal:
            raise Refusal(refusal.why, place) from None
        return Known(array_of(tensor, place), kind, name=tensor.name)

    # ---- nodes

    def run_nodes(self, nodes: Sequence[onnx.NodeProto], scope: dict[str, Thing], versions: Mapping[str, int]) -> None:
        """In their order, which must be that of what they read."""
        made: set[str] = set()
        for node in nodes:
            try:
                check_names(node, scope, made, nodes)
                self.run_node(node, scope, versions)
            except Refusal as refusal:
                place = place_of(node)
                named = refusal if refusal.place == place else refusal.within(node.op_type, place)
                raise named from refusal.__cause__
            except NeedsKnown as need:
                raise need.within(node.op_type, place_of(node)) from None
            made.update(node.output)

    def run_node(self, node: onnx.NodeProto, scope: dict[str, Thing], versions: Mapping[str, int]) -> None:
        inputs = [scope[name] if name else None for name in node.input]
        domain = definitions.canonical(node.domain)
        is_own = (domain, node.op_type) in self.functions
        types = {} if is_own else definitions.results_of(node, inputs, domain, versions)
        try:
            results = self._results(domain, node, inputs, versions, scope, types)
        except (Refusal, NeedsKnown):
            raise
        except Error as error:  # of the builder
            raise Refusal(str(error)) from error
        except Exception as error:  # what ONNX's definition leaves open, a row may stumble over
            raise Refusal(unfit(inputs, error)) from error
        if any(node.output[len(results) :]):
            raise Refusal(f"{len(node.output)} results, of which there are {len(results)}")
        for name, result in zip(node.output, results):
            definitions.check_result(name, result, types)
            if name and result is not None:
                scope[name] = result

    def _results(
        self, domain: str, node: onnx.NodeProto, inputs: list, versions: Mapping[str, int], scope: dict, types: Types
    ) -> list:
        row = ROWS.get((domain, node.op_type))
        if (domain, node.op_type) in self.functions:
            return functions.call(self, self.functions[domain, node.op_type], node, inputs, None)
        version = versions.get(domain, 1)
        depends = frozenset().union(*(thing.inputs for thing in inputs if thing is not None), frozenset())
        if node.op_type not in CONTROL and (row is None or row.folds) and folding.is_worthwhile(inputs, types):
            folded = folding.fold(node, inputs, domain, version)
            if folded is not None:
                return [None if known is None else known._replace(inputs=depends) for known in folded]
        call = Call(self, node, inputs, version, scope, row is not None and row.narrow)
        if row is None or row.otherwise and row.otherwise(call):
            return self._expand(domain, node, inputs, version, scope)
        self.used.add((domain, node.op_type))
        self._check_signs(node, inputs, types)
        self.graph.source = node.name or next(filter(None, node.output), node.op_type)
        operands = [call.x(i) for i in range(min(row.operands, len(inputs)) if row.operands > 100 else row.operands)]
        with self.builder.width(getattr(row.build, "__module__", "") not in PLACES and _has_wide(inputs, types)):
            found = row.build(call, *operands)
        found = (
            found
            if isinstance(found, (list, tuple)) and not isinstance(found, (Value, Typed, Known, Traced, Many, Absent))
            else [found]
        )
        return [self.finish(each, row, call, depends) for each in found]

    def _check_signs(self, node: onnx.NodeProto, inputs: Sequence[Optional[Thing]], types: Types) -> None:
        """Refuses what would take a UINT64 from 2^63 on for a number below 0."""
        codes = [each.tensor_type.elem_type for each in types.values() if each.WhichOneof("value") == "tensor_type"]
        to_float = any(code in FLOAT_CODES for code in codes)
        if node.op_type in MODULAR and not to_float:
            return
        for thing in inputs:
            if isinstance(thing, Traced) and thing.element is ELEMENTS["UINT64"]:
                if not is_empty(thing.value.shape) and thing.value.numbers[0] < 0:
                    raise Refusal(
                        f"operator {node.op_type}: a UINT64 that may be below 0 or from 2^63 on; cast it to INT64 if it "
                        "is neither",
                        place_of(node),
                    )

    def finish(self, found: Any, row: Row, call: Call, depends: frozenset) -> Optional[Thing]:
        if found is None or isinstance(found, (Known, Traced, Many, Absent)):
            return found
        name = found.element if isinstance(found, Typed) else row.out
        value = found.value if isinstance(found, Typed) else found
        kind = call.element(0) if name == SAME else ELEMENTS[name]
        if is_empty(value.shape):
            if all(is_known(size) for size in value.shape):
                return Known(numpy.zeros(value.shape, kind.numpy), kind, depends)
            return Traced(value, kind, depends)
        return Traced(settle(self.builder, value, kind, row.exact), kind, depends)

    def _expand(self, domain: str, node: onnx.NodeProto, inputs: list, version: int, scope: dict) -> list:
        found = functions.body(node, inputs, domain, version)
        if found is None:
            raise refused(node, domain, inputs)
        return functions.call(self, found, node, inputs, version)

    def default(self, node: onnx.NodeProto, name: str, version: int) -> Any:
        schema = definitions.schema_of(node.op_type, definitions.canonical(node.domain), version)
        attribute = schema.attributes.get(name) if schema is not None else None
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
            return self.builder.constant(0, thing.element.held, array.shape)
        if thing.is_symbolic:
            return settle(self.builder, self.builder.table(array), thing.element, True)
        if thing.element.is_float:
            array = array.astype(numpy.float32) if thing.element.name in FORMATS else array
            return settle(self.builder, self.builder.table(array, thing.name), thing.element, True)
        return self.builder.table(array)


class Imported:
    """What came of a model: its text, what goes in and out, and what is known of both."""

    def __init__(self, importer: Importer, inputs: Mapping[str, Thing], results: Mapping[str, Thing]) -> None:
        self.operators = importer.used
        self.symbols = importer.symbols
        self.inputs = inputs
        tensors = [leaf for name, thing in inputs.items() for leaf in leaves(name, thing)]
        self.elements = {place: thing.element for place, thing in tensors}
        known = {place: thing.array for place, thing in tensors if isinstance(thing, Known)}
        self.frozen = {place: array for place, array in known.items() if array.size}
        self.ports = [place for place, _ in tensors if place not in known]
        self.outputs = list(results)
        self.results: list[Traced] = []
        self._values: list[Value] = []
        self._places = {name: self._place(importer, name, thing) for name, thing in results.items()}
        graph = importer.graph.text("main", [(f"r{i}", value.number) for i, value in enumerate(self._values)])
        self.module = Module(importer.bounds, list(importer.builder.parameters.values()), graph)

    def _place(self, importer: Importer, name: str, thing: Thing) -> Any:
        """A constant, or the number of the plan's result; lists of these for sequences; None for nothing."""
        if isinstance(thing, Absent):
            return None
        if isinstance(thing, Many):
            return [self._place(importer, name, part) for part in thing.parts]
        if isinstance(thing, Known) and not thing.is_symbolic:
            return thing
        self._values.append(to_port(importer.builder, importer.lift(thing), thing.element))
        self.results.append(thing)
        return len(self.results) - 1

    def collect(self, found: Mapping[str, numpy.ndarray]) -> dict[str, Any]:
        """ONNX's outputs of the plan's results."""
        return {name: self._collected(name, place, found) for name, place in self._places.items()}

    def _collected(self, name: str, place: Any, found: Mapping[str, numpy.ndarray]) -> Any:
        if isinstance(place, list):
            return [self._collected(name, each, found) for each in place]
        if place is None:
            return None
        if isinstance(place, Known):
            return place.array
        return leaving(found[f"r{place}"], self.results[place].element, name)


def import_model(
    model: onnx.ModelProto, bounds: Mapping[str, int], sizes: Mapping[str, Any], doubles: bool
) -> Imported:
    """Inputs whose numbers the graph's sizes follow from are taken from `sizes`, those alone, one after the other."""
    if not model.graph.output:
        raise Refusal("the model has no outputs, so that there is nothing to compile")
    known: set[str] = set()
    while True:
        importer = Importer(model, bounds, known, sizes, doubles)
        try:
            inputs = importer.inputs()
            outputs = importer.run(model.graph, dict(inputs))
            return Imported(importer, inputs, {port.name: thing for port, thing in zip(model.graph.output, outputs)})
        except NeedsKnown as need:
            known.update(_wanted(need, known, sizes))


def _wanted(need: NeedsKnown, known: Collection[str], sizes: Collection[str]) -> list[str]:
    """Inputs whose numbers are needed, too."""
    if not need.inputs:
        hint = "give these sizes numbers in the model"
        raise Refusal(f"{need.what} follows from symbolic sizes, and sets others: {hint}", need.place)
    wanted = sorted(need.inputs - set(known))
    missing = [name for name in wanted if name not in sizes]
    shown = [f"{name!r}: ..." for name in missing]
    if missing or not wanted:
        raise Refusal(
            f"{need.what} sets sizes, and depends on inputs of the graph: give sizes={{{', '.join(shown)}}}", need.place
        )
    return wanted
