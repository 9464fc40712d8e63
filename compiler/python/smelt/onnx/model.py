"""Imported models: compiled, and run with ONNX's names and types."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Mapping, Optional, Union

import numpy
import onnx

from .. import plan as plans
from ..errors import Error
from ..text import said_of
from .importer import Imported, import_model
from .inputs import arrays_of, described
from .ports import entering

ModelLike = Union[onnx.ModelProto, str, "os.PathLike[str]"]


def load(model: ModelLike) -> onnx.ModelProto:
    """With the weights that lie beside it."""
    if isinstance(model, onnx.ModelProto):
        return model
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"model: a {type(model).__name__}, expected an onnx.ModelProto or the path of one")
    path = os.fspath(model)
    try:
        return onnx.load(path)
    except OSError as error:
        raise Error(f"{path}: {error.strerror or error}", "io") from error
    except Exception as error:  # of protobuf, or of the files that weights lie in
        reason = " ".join(str(error).split())[:200]
        raise Error(f"{path}: no model of ONNX that can be read: {reason}", "invalid_file") from error


def checked_bounds(model: onnx.ModelProto, bounds: Optional[Mapping[str, int]]) -> dict[str, int]:
    """`max` as the caller gives it: each name is a size of the model, each bound a size that is possible."""
    if not isinstance(bounds, (Mapping, type(None))):
        raise TypeError(f"max: a {type(bounds).__name__}, expected a mapping of names to bounds")
    names = sizes_of(model)
    for name, upper in (bounds or {}).items():
        if name not in names:
            raise Error(f"max: the model has no size '{name}'; it has {', '.join(names) or 'none that is symbolic'}")
        if isinstance(upper, bool) or not isinstance(upper, (int, numpy.integer)):
            raise TypeError(f"max: {name!r}: {upper!r}, expected a whole number")
        if not 1 <= upper < 2**31:
            raise Error(f"max: {name!r}: {upper}, expected a bound of at least 1, and below 2^31")
    return {name: int(upper) for name, upper in (bounds or {}).items()}


def sizes_of(model: onnx.ModelProto) -> list[str]:
    """Names of the symbolic sizes of inputs."""
    dims = [dim for port in model.graph.input for dim in port.type.tensor_type.shape.dim]
    return list(dict.fromkeys(dim.dim_param for dim in dims if dim.dim_param))


def checked_sizes(model: onnx.ModelProto, sizes: Optional[Mapping[str, Any]]) -> Mapping[str, Any]:
    if not isinstance(sizes, (Mapping, type(None))):
        raise TypeError(f"sizes: a {type(sizes).__name__}, expected a mapping of inputs to numbers")
    names = [port.name for port in model.graph.input]
    for name in sizes or {}:
        if name not in names:
            raise Error(f"sizes: the model has no input '{name}'; it has {', '.join(names) or 'none'}")
    return sizes or {}


def imported_from(model: ModelLike, max: Any, sizes: Any, doubles: bool) -> Imported:
    proto = load(model)
    return import_model(proto, checked_bounds(proto, max), checked_sizes(proto, sizes), doubles)


class Model:
    """A compiled model. `plan` is None where all outputs are constants."""

    def __init__(self, imported: Imported, plan: Optional[plans.Plan], place: Any) -> None:
        self.plan = plan
        self.frozen = imported.frozen
        """Inputs whose numbers the plan was compiled for."""
        self.text = imported.module.text()
        self.operators = imported.operators
        self._imported = imported
        self._place = place  # keeps the directory of the weights

    @property
    def inputs(self) -> dict[str, Any]:
        """Element type and sizes by name; of sequences a list of these, and of optionals that are empty None."""
        return {name: described(thing) for name, thing in self._imported.inputs.items()}

    @property
    def outputs(self) -> list[str]:
        return self._imported.outputs

    def session(self, **options: Any) -> Session:
        """Memory and weights to run it with; the options are those of smelt.Plan.session."""
        return Session(self, self.plan.session(**options) if self.plan else None)

    def __repr__(self) -> str:
        return f"<smelt.onnx.Model {list(self.inputs)} -> {self.outputs}>"


class Session:
    """Runs a model on NumPy's arrays of ONNX's types, by ONNX's names."""

    def __init__(self, model: Model, session: Any) -> None:
        self.model = model
        self.session = session
        """The smelt.Session below; None where all outputs are constants."""

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        imported = self.model._imported
        self._check_names(inputs)
        things = imported.inputs.items()
        arrays = dict(leaf for name, thing in things for leaf in arrays_of(name, thing, inputs[name]))
        for name, array in arrays.items():
            self._check_type(name, array)
        for name, expected in self.model.frozen.items():
            self._check_frozen(name, arrays[name], expected)
        given = {
            name: entering(array, imported.elements[name], name)
            for name, array in arrays.items()
            if name in imported.ports
        }
        found = self.session._native.run("main", given, 0) if self.session else {}  # inputs may be called `out`
        return imported.collect({name: numpy.asarray(tensor.numpy()) for name, tensor in found.items()})

    def _check_names(self, inputs: Mapping[str, Any]) -> None:
        missing = [name for name in self.model._imported.inputs if name not in inputs]
        unknown = [name for name in inputs if name not in self.model._imported.inputs]
        if missing or unknown:
            raise Error(f"inputs: missing {missing}, unknown {unknown}, expected {list(self.model._imported.inputs)}")

    def _check_type(self, name: str, array: numpy.ndarray) -> None:
        kind = self.model._imported.elements[name]
        if array.dtype != kind.numpy:
            raise Error(f"input '{name}': {array.dtype}, expected {kind.numpy} ({kind.name}); convert it")

    @staticmethod
    def _check_frozen(name: str, array: numpy.ndarray, expected: numpy.ndarray) -> None:
        if array.shape != expected.shape or not numpy.array_equal(array, expected):
            raise Error(
                f"input '{name}' sets sizes: the plan is for {expected.tolist()}, given {array.tolist()}; "
                f"compile again with sizes={{{name!r}: ...}}"
            )


def compile_model(
    model: ModelLike,
    *,
    max: Optional[Mapping[str, int]] = None,
    sizes: Optional[Mapping[str, Any]] = None,
    doubles: bool = False,
    **options: Any,
) -> Model:
    """Compiles an ONNX model.

    max: bounds of its symbolic sizes by name, such as {"batch": 8}.
    sizes: numbers of inputs that set sizes, such as the shape of a Reshape: the plan is for these, and a run with
    others is an error. Only those inputs that set sizes are taken from it, and from others the sizes that the model
    leaves open, such as the number of parts of a sequence.
    doubles: DOUBLE is computed in FLOAT rather than refused.
    The other options are those of smelt.compile; mode is "infer".
    """
    imported = imported_from(model, max, sizes, doubles)
    if not imported.ports and not imported.results:
        return Model(imported, None, None)
    place = tempfile.TemporaryDirectory(prefix="smelt-onnx-")
    path = imported.module.write(place.name)
    options = {"mode": "infer", "entry": ["main"], **options}
    if max:
        options["max"] = {imported.symbols[name]: int(upper) for name, upper in max.items()}
    return Model(imported, compiled(path, imported, options) if imported.results else None, place)


def compiled(path: "os.PathLike[str]", imported: Imported, options: dict[str, Any]) -> plans.Plan:
    try:
        return plans.compile(path, **options)
    except Error as error:
        raise said_of(error, imported.module.text()) from error


def write_model(
    model: ModelLike,
    directory: Union[str, "os.PathLike[str]"],
    *,
    max: Optional[Mapping[str, int]] = None,
    sizes: Optional[Mapping[str, Any]] = None,
    doubles: bool = False,
) -> Imported:
    """Writes model.ir and model.safetensors, which every command of `smelt` takes as a model."""
    imported = imported_from(model, max, sizes, doubles)
    imported.module.write(directory)
    return imported
