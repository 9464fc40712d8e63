"""Inputs of a model: a tensor is an input of the graph. A sequence is one for each of its parts, and an optional is
what it holds: a sample of the inputs says how many parts there are, and whether anything is held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Collection, Iterator, Mapping, Optional

import numpy
import onnx

from ..builder.sizes import Dim, is_known
from ..builder.values import Value
from ..errors import Error
from .build import is_empty
from .call import Absent, Known, Many, Thing, Traced
from .names import refuse_twins
from .ports import from_port
from .refusal import Refusal
from .types import Element, element

if TYPE_CHECKING:
    from .importer import Importer

KINDS = {"sequence_type": "sequence", "optional_type": "optional"}


class Inputs:
    """The inputs of one model. `known`: names of inputs whose numbers the plan is for; `sample`: an example of inputs,
    which has these numbers, and the sizes that the model leaves open."""

    def __init__(
        self, importer: Importer, known: Collection[str], sample: Mapping[str, Any], symbols: Mapping[str, str]
    ) -> None:
        self.importer = importer
        self.known = known
        self.sample = sample
        self.symbols = symbols

    def things(self, ports: Mapping[str, onnx.ValueInfoProto]) -> dict[str, Thing]:
        found = {name: self._of(port.type, name, name, self.sample.get(name)) for name, port in ports.items()}
        refuse_twins("inputs", [place for name, thing in found.items() for place, _ in leaves(name, thing)])
        return found

    def _of(self, type_: onnx.TypeProto, name: str, place: str, sample: Any) -> Thing:
        """Makes the part `place` of the input `name`, such as x[1]. `sample`: the same part of the sample."""
        which = type_.WhichOneof("value")
        if which == "tensor_type":
            return self._tensor(type_.tensor_type, name, place, sample)
        if which not in KINDS:
            raise Refusal(f"the input '{place}', a {which}")
        if name not in self.sample:
            raise Refusal(f"the input '{name}', whose {KINDS[which]} sets sizes: give sizes={{{name!r}: ...}}")
        if which == "optional_type":
            inner = type_.optional_type.elem_type
            return Absent(frozenset([name])) if sample is None else self._of(inner, name, place, sample)
        if not isinstance(sample, (list, tuple)):
            raise Refusal(f"the input '{place}': sizes has a {type(sample).__name__}, expected a list of its parts")
        inner = type_.sequence_type.elem_type
        parts = [self._of(inner, name, f"{place}[{i}]", part) for i, part in enumerate(sample)]
        return Many(tuple(parts), frozenset([name]))

    def _tensor(self, type_: onnx.TypeProto.Tensor, name: str, place: str, sample: Any) -> Thing:
        try:
            kind = element(type_.elem_type, self.importer.doubles)
        except Refusal as refusal:
            raise Refusal(refusal.why, f"the input '{place}'") from None
        depends = frozenset([name])
        if name in self.known:
            return Known(given(sample, kind, place), kind, depends)
        shape = self._shape(type_, place, sample)
        if is_empty(shape):
            if not all(map(is_known, shape)):
                raise Refusal(f"the input '{place}' has no elements, and sizes by name: give these numbers, too")
            return Known(numpy.zeros(shape, kind.numpy), kind, depends)
        return self._port(place, kind, shape, depends)

    def _port(self, place: str, kind: Element, shape: tuple, depends: frozenset) -> Traced:
        if not place.isprintable():
            raise Refusal(f"the name {place!r} of an input, which text does not hold: rename it")
        value = Value(*self.importer.graph.input(place, (kind.port, shape)))
        value = from_port(self.importer.builder, value, kind)
        value.port = place
        return Traced(value, kind, depends)

    # ---- sizes

    def _shape(self, type_: onnx.TypeProto.Tensor, place: str, sample: Any) -> tuple:
        sampled = None if sample is None else numpy.shape(sample)
        if not type_.HasField("shape"):
            if sampled is None:
                raise Refusal(f"the input '{place}' has no shape")
            return sampled
        dims = type_.shape.dim
        if sampled is None or len(sampled) != len(dims):
            sampled = (None,) * len(dims)
        return tuple(self._size(size, place, own) for size, own in zip(dims, sampled))

    def _size(self, size: Any, place: str, sampled: Optional[int]) -> Any:
        if size.HasField("dim_value"):
            if not 0 <= size.dim_value < 2**31:
                raise Refusal(f"the size {size.dim_value} of the input '{place}', expected one from 0 to 2^31 - 1")
            return size.dim_value
        if size.dim_param in self.symbols:
            return Dim.symbol(self.symbols[size.dim_param])
        if sampled is not None:
            return sampled
        if not size.dim_param:
            raise Refusal(f"the input '{place}' has a size without a number or a name: give it one of them")
        raise Refusal(
            f"the size '{size.dim_param}' of the input '{place}' has no bound; give max={{{size.dim_param!r}: ...}}"
        )


def given(sample: Any, kind: Element, place: str) -> numpy.ndarray:
    array = numpy.asarray(sample)
    if array.dtype != kind.numpy:
        raise Refusal(f"the input '{place}': sizes has {array.dtype}, expected {kind.numpy}")
    return array


# ---- tensors of inputs, by the names of their places


def leaves(place: str, thing: Thing) -> Iterator[tuple[str, Thing]]:
    """Lists the tensors of an input."""
    if isinstance(thing, Many):
        for i, part in enumerate(thing.parts):
            yield from leaves(f"{place}[{i}]", part)
    elif not isinstance(thing, Absent):
        yield place, thing


def arrays_of(place: str, thing: Thing, value: Any) -> Iterator[tuple[str, numpy.ndarray]]:
    """Lists the arrays of an input that is given to a run; an Error where the plan is for an input of other parts."""
    if isinstance(thing, Absent):
        if value is not None:
            raise Error(f"input '{place}': the plan is for None; compile again with sizes={{{place!r}: ...}}")
        return
    if isinstance(thing, Many):
        if not isinstance(value, (list, tuple)) or len(value) != len(thing.parts):
            found = f"{len(value)} parts" if isinstance(value, (list, tuple)) else f"a {type(value).__name__}"
            raise Error(f"input '{place}': {found}; the plan is for a list of {len(thing.parts)} parts: compile again")
        for i, (part, each) in enumerate(zip(thing.parts, value)):
            yield from arrays_of(f"{place}[{i}]", part, each)
        return
    yield place, numpy.asarray(value)


def described(thing: Thing) -> Any:
    """Element type and sizes of a tensor; a list of these of a sequence; None where the plan is for nothing."""
    if isinstance(thing, Absent):
        return None
    if isinstance(thing, Many):
        return [described(part) for part in thing.parts]
    return thing.element.name, thing.shape
