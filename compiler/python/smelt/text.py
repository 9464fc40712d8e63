"""Models in Smelt's text form (docs/guides/models.md): declarations, graphs that a GraphBuilder has written, and weights."""

from __future__ import annotations

import json
import os
import pathlib
import re
from typing import Any, Iterable, Mapping, NamedTuple, Sequence, Union

from .errors import Error


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
    """A string of the text form."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + re.sub(r"[\x00-\x1f]", lambda found: f"\\x{ord(found[0]):02x}", escaped) + '"'


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
    """A model: bounds of its symbols, weights, and the text of a graph over them."""

    symbols: Mapping[str, int]
    parameters: Sequence[Parameter]
    graph: str

    def text(self) -> str:
        bounds = ", ".join(f"{name} <= {upper}" for name, upper in self.symbols.items())
        head = [f"symbols {bounds}"] if bounds else []
        head += [parameter.declaration() for parameter in self.parameters]
        return "\n".join([*head, "", self.graph])

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
