"""Writes graphs in Smelt's text form (docs/guides/models.md), for what imports programs of other libraries.

    graph = Graph("main")
    x = graph.input("x", "f32", ("B", 3))
    y = graph.node("exp", [x], "f32", ("B", 3))
    graph.result("y", y)
    Module({"B": 8}, [], [graph]).write("model")  # model/model.ir, and model.safetensors where there are weights

Types and shapes are the caller's: the compiler checks them when it reads the text. A size is a whole number or a text
such as "2*B + 1"; anything whose str() is one will do.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Sequence, Union

from .errors import Error


class Value(NamedTuple):
    """What a node of the graph, or an input, makes: its name in the text, its element type and its sizes."""

    name: str
    dtype: str
    shape: tuple

    def __str__(self) -> str:
        return f"%{self.name}"

    @property
    def type(self) -> str:
        return type_text(self.dtype, self.shape)


class Symbol(NamedTuple):
    """A word of the text form as an attribute's value, such as a size that is no number."""

    text: str


class Parameter(NamedTuple):
    """Weights by name; `values` are what has __array__, or None where they are given when a session is made."""

    name: str
    dtype: str
    shape: tuple
    values: Any = None
    frozen: bool = True

    def declaration(self) -> str:
        fields = " {frozen = true}" if self.frozen else ""
        return f"parameter {quoted(self.name)}{fields} : {type_text(self.dtype, self.shape)}"


def type_text(dtype: str, shape: Iterable[Any]) -> str:
    return f"{dtype}[{','.join(str(size) for size in shape)}]"


def quoted(text: str) -> str:
    """A string of the text form: what it cannot hold on a line becomes a space."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def number_text(number: Union[int, float]) -> str:
    """Floats by their shortest text that is read back to the same bits."""
    if isinstance(number, float) and number != number:
        return "nan"
    if isinstance(number, float) and number in (float("inf"), float("-inf")):
        return "inf" if number > 0 else "-inf"
    return repr(number)


def attribute_text(value: Any) -> str:
    if isinstance(value, Symbol):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, str):
        return quoted(value)
    return "[" + ", ".join(attribute_text(each) for each in value) + "]"


class Block:
    """Nodes, one after the other."""

    def __init__(self) -> None:
        self.source = ""
        """The name, in the program that is imported, of what is being written: reports and dumps show it."""
        self._nodes: list[tuple[list[Value], list[Any], str]] = []
        """The results, what they are made of, and the line of each node."""
        self._count = 0

    def node(
        self,
        operation: str,
        operands: Sequence[Value],
        dtype: str,
        shape: Sequence[Any],
        /,
        body: Optional[Body] = None,
        **attributes: Any,
    ) -> Value:
        return self.nodes(operation, operands, [(dtype, shape)], body, **attributes)[0]

    def nodes(
        self,
        operation: str,
        operands: Sequence[Value],
        types: Sequence[tuple[str, Sequence[Any]]],
        /,
        body: Optional[Body] = None,
        **attributes: Any,
    ) -> list[Value]:
        """A node of several results. `operation` may hold more than a word: "reduce add", 'parameter "w"'."""
        results = [self._fresh(dtype, shape) for dtype, shape in types]
        left, right = ", ".join(map(str, results)), ", ".join(value.type for value in results)
        words = [operation, ", ".join(map(str, operands)), body.head() if body else ""]
        words += [quoted(self.source) if self.source else "", _fields(attributes), body.text() if body else ""]
        line = f"  {left} = {' '.join(word for word in words if word)} : {right}"
        self._nodes.append((results, [*operands, *(body.outside if body else ())], line))
        return results

    def lines(self, returned: Iterable[Any]) -> list[str]:
        """Returns the lines of the nodes that these values are made of."""
        needed, kept = {value.name for value in returned}, []
        for results, operands, line in reversed(self._nodes):
            if any(value.name in needed for value in results):
                needed.update(value.name for value in operands)
                kept.append(line)
        return kept[::-1]

    def parameter(self, parameter: Parameter) -> Value:
        return self.node(f"parameter {quoted(parameter.name)}", [], parameter.dtype, parameter.shape)

    def _fresh(self, dtype: str, shape: Sequence[Any]) -> Value:
        self._count += 1
        return Value(str(self._count - 1), dtype, tuple(shape))


class Body(Block):
    """What a node has inside, such as what an attention makes of a score."""

    def __init__(self, handed: Sequence[tuple[str, Sequence[Any]]]) -> None:
        """`handed`: the types of what the node computes for it."""
        super().__init__()
        self.handed = [self._fresh(dtype, shape) for dtype, shape in handed]
        self.outside: list[Value] = []
        """What the body is given of the graph around it."""
        self._inputs = [str(value) for value in self.handed]
        self._returned: list[Value] = []

    def argument(self, outside: Value) -> Value:
        inside = self._fresh(outside.dtype, outside.shape)
        self.outside.append(outside)
        self._inputs.append(f"{inside} = {outside}")
        return inside

    def returns(self, *values: Value) -> None:
        self._returned = list(values)

    def head(self) -> str:
        return f"({', '.join(self._inputs)})"

    def text(self) -> str:
        lines = [f"  {line}" for line in self.lines(self._returned)]
        return "{\n" + "\n".join(lines + [f"    return {', '.join(map(str, self._returned))}"]) + "\n  }"


class Graph(Block):
    """A graph that grows by a node at a time."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.attributes: dict[str, dict[str, Any]] = {}
        """Of inputs by name, such as {"below": 50257}."""
        self._inputs: list[tuple[str, Value]] = []
        self._results: list[tuple[str, Value]] = []

    def input(self, name: str, dtype: str, shape: Sequence[Any]) -> Value:
        value = self._fresh(dtype, shape)
        self._inputs.append((name, value))
        return value

    def result(self, name: str, value: Value) -> None:
        self._results.append((name, value))

    def text(self) -> str:
        body = self.lines(value for _, value in self._results)
        body.append("  return " + ", ".join(f"{name} = {value}" for name, value in self._results))
        ports = [
            f"{value} {quoted(name)}: {value.type} {_fields(self.attributes.get(name, {}))}".rstrip()
            for name, value in self._inputs
        ]
        return f"graph @{self.name}({', '.join(ports)}) {{\n" + "\n".join(body) + "\n}\n"


def said_of(error: Error, text: str) -> Error:
    """An error that the compiler has with a line of this text, without the line: what is wrong, and the source of the
    node. Other errors are as they are."""
    found = re.match(r"\S*model\.ir:(\d+):\d+: (.*)", str(error))
    lines = text.splitlines()
    if found is None or not 0 < int(found[1]) <= len(lines):
        return error
    source = re.search(r'(?<!parameter )"((?:[^"\\]|\\.)*)" ?(?:\{|:|$)', lines[int(found[1]) - 1])
    return Error(f"'{source[1]}': {found[2]}" if source else found[2], error.status)


class Module(NamedTuple):
    """A model: bounds of its symbols, weights, and graphs over them."""

    symbols: Mapping[str, int]
    parameters: Sequence[Parameter]
    graphs: Sequence[Graph]

    def text(self) -> str:
        bounds = ", ".join(f"{name} <= {upper}" for name, upper in self.symbols.items())
        head = [f"symbols {bounds}"] if bounds else []
        head += [parameter.declaration() for parameter in self.parameters]
        return "\n".join(head + [""] + [graph.text() for graph in self.graphs])

    def write(self, directory: Union[str, "os.PathLike[str]"]) -> pathlib.Path:
        """Writes model.ir and the weights beside it, and returns the directory, which smelt.compile takes."""
        place = pathlib.Path(directory)
        place.mkdir(parents=True, exist_ok=True)
        (place / "model.ir").write_text(self.text(), encoding="utf-8")
        arrays = {p.name: p.values for p in self.parameters if p.values is not None}
        if arrays:
            write_safetensors(place / "model.safetensors", arrays)
        return place


def write_safetensors(path: pathlib.Path, arrays: Mapping[str, Any]) -> None:
    """The file of weights: numpy's arrays of the types that `SAFETENSORS_TYPES` lists."""
    import numpy

    header, offset, blocks = {}, 0, []
    for name, values in arrays.items():
        block = numpy.asarray(values, order="C")
        end = offset + block.nbytes
        kind = SAFETENSORS_TYPES[str(block.dtype)]
        header[name] = {"dtype": kind, "shape": list(block.shape), "data_offsets": [offset, end]}
        offset = end
        blocks.append(block)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for block in blocks:
            file.write(block.tobytes())


SAFETENSORS_TYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "float64": "F64", "int32": "I32"}


def _fields(attributes: Mapping[str, Any]) -> str:
    fields = ", ".join(f"{key} = {attribute_text(value)}" for key, value in attributes.items() if value is not None)
    return f"{{{fields}}}" if fields else ""
