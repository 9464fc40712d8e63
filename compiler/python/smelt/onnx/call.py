"""One node of an ONNX graph as its row sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence, Union

import numpy
import onnx

from ..builder import Value
from ..builder.sizes import is_known
from .refusal import NeedsKnown, Refusal
from .types import Element

if TYPE_CHECKING:
    from .importer import Importer


class Known(NamedTuple):
    """Numbers that are known when the model is compiled; sizes among them may be symbolic (an array of objects).
    `inputs`: of the graph, whose given numbers these follow from; `name`: of the weights that these are."""

    array: numpy.ndarray
    element: Element
    inputs: frozenset = frozenset()
    name: Optional[str] = None

    @property
    def shape(self) -> tuple:
        return self.array.shape

    @property
    def is_symbolic(self) -> bool:
        return self.array.dtype == object


class Traced(NamedTuple):
    """What the graph computes from `inputs`."""

    value: Value
    element: Element
    inputs: frozenset

    @property
    def shape(self) -> tuple:
        return self.value.shape


class Many(NamedTuple):
    """A sequence of ONNX."""

    parts: tuple
    inputs: frozenset = frozenset()


class Absent(NamedTuple):
    """An optional of ONNX that holds nothing."""

    inputs: frozenset = frozenset()


Thing = Union[Known, Traced, Many, Absent]


class Call:
    def __init__(
        self,
        importer: Importer,
        node: onnx.NodeProto,
        inputs: Sequence[Optional[Thing]],
        version: int,
        scope: dict,
        narrow: bool,
    ) -> None:
        self.importer = importer
        self.b = importer.builder
        self.node = node
        self.inputs = list(inputs)
        self.version = version
        """Of the operator set."""
        self.scope = scope
        self.narrow = narrow
        """Whether operands of 16 bits come as they are stored."""
        self._attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute if not a.ref_attr_name}

    # ---- operands

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None

    def thing(self, index: int) -> Thing:
        if not self.has(index):
            raise Refusal(f"no operand {index}")
        return self.inputs[index]

    def x(self, index: int) -> Optional[Value]:
        return self.importer.lift(self.inputs[index], self.narrow) if self.has(index) else None

    def element(self, index: int) -> Element:
        thing = self.thing(index)
        if not isinstance(thing, (Known, Traced)):
            raise Refusal("a sequence or an optional as an operand")
        return thing.element

    def shape(self, index: int) -> tuple:
        return self.thing(index).shape

    def known(self, index: int) -> Optional[numpy.ndarray]:
        """The numbers of an operand, which must not depend on those that are given when it runs."""
        if not self.has(index):
            return None
        thing = self.inputs[index]
        if isinstance(thing, Known):
            return thing.array
        raise NeedsKnown(thing.inputs, f"operand {index}")

    def ints(self, index: int) -> Optional[list]:
        array = self.known(index)
        if array is None:
            return None
        return [each if not is_known(each) else int(each) for each in numpy.asarray(array).ravel().tolist()]

    def number(self, index: int, default: Any = None) -> Any:
        array = self.known(index)
        return default if array is None else array.reshape(-1)[0].item() if array.dtype != object else array.flat[0]

    # ---- attributes

    def attribute(self, name: str, default: Any = None) -> Any:
        """As written, else by the schema, else `default`."""
        if name in self._attributes:
            value = self._attributes[name]
        else:
            value = self.importer.default(self.node, name, self.version)
        if isinstance(value, bytes):
            value = value.decode()
        return default if value is None else value

    def given(self, name: str) -> bool:
        return name in self._attributes

    def axes(self, operand: int = 1) -> Optional[list[int]]:
        """An attribute of older operator sets, an operand of newer ones."""
        if self.given("axes"):
            return list(self.attribute("axes"))
        return self.ints(operand)

    def refuse_unless(self, holds: bool, what: str) -> None:
        if not holds:
            raise Refusal(what)

    # ---- graphs inside

    def run(self, graph: onnx.GraphProto, operands: Sequence[Thing]) -> list[Thing]:
        if len(graph.input) != len(operands):
            raise Refusal(f"its graph '{graph.name}' takes {len(graph.input)} inputs, and is given {len(operands)}")
        scope = dict(self.scope)
        scope.update({port.name: thing for port, thing in zip(graph.input, operands)})
        return self.importer.run(graph, scope)

    def wrap(self, value: Value, element: Element) -> Traced:
        return Traced(value, element, self.depends)

    @property
    def depends(self) -> frozenset:
        return frozenset().union(*(thing.inputs for thing in self.inputs if thing is not None))
