"""What is known of values while they are written: it spares indices their guards, and look-ups in plain tables."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy

from ..ranges import INTEGERS, LIMITS, Range, fits, hull
from ..text import Value
from .dims import Size

VIEWS = {"reshape", "transpose", "broadcast"}
KEEP_SIGN = {"add", "mul", "max", "min"}
"""Of numbers that are not negative, results that are not."""


class Facts:
    """By the names of values."""

    def __init__(self) -> None:
        self.numbers: dict[str, Any] = {}
        """Of tensors that are one number everywhere."""
        self.axes: dict[str, int] = {}
        """Of iotas."""
        self.natural: set[str] = set()
        """Integers that are never negative."""
        self.ranges: dict[str, Range] = {}
        """The least and the largest number that elements of integers can be."""
        self.ports: dict[str, str] = {}
        """The input whose elements these are, all of them."""

    def learn(self, operation: str, operands: Sequence[Value], result: Value, fields: dict[str, Any]) -> None:
        name = result.name
        if operation == "constant" and "value" in fields:
            self.numbers[name] = fields["value"]
        if operation == "iota":
            self.axes[name] = fields["axis"]
        if operation in VIEWS and operands[0].name in self.ports:
            self.ports[name] = self.ports[operands[0].name]
        if result.dtype in INTEGERS and (found := self._range_of_result(operation, operands, fields)) is not None:
            if fits(found, result.dtype):
                self.ranges[name] = found
        if result.dtype == "i32" and self._is_natural(operation, operands, fields):
            self.natural.add(name)

    def range_of(self, x: Value) -> Range:
        """The numbers that elements of an integer can be."""
        return self.ranges.get(x.name, LIMITS[x.dtype])

    def _range_of_result(
        self, operation: str, operands: Sequence[Value], fields: dict[str, Any]
    ) -> Optional[Range]:
        if operation == "constant":
            numbers = fields["values"] if "values" in fields else [fields["value"]]
            return min(numbers), max(numbers)
        if operation == "iota":
            return 0, LIMITS["i32"][1] - 1
        is_view = operation in (*VIEWS, "slice", "gather", "convert", "concat", "reduce max", "reduce min")
        if not is_view or any(x.dtype not in LIMITS for x in operands):
            return None
        sources = operands if operation == "concat" else operands[:1]
        return hull(*(self.range_of(x) for x in sources)) if sources else None

    def _is_natural(self, operation: str, operands: Sequence[Value], fields: dict[str, Any]) -> bool:
        if operation == "constant":
            numbers = fields["values"] if "values" in fields else [fields["value"]]
            return min(numbers) >= 0
        if operation in KEEP_SIGN or operation == "concat":
            return all(x.name in self.natural for x in operands)
        if operation == "select":
            return all(x.name in self.natural for x in operands[1:])
        if operation == "convert":
            return operands[0].dtype == "bool"
        return operation == "iota" or operation in (*VIEWS, "slice", "gather") and operands[0].name in self.natural


def only_axis(shape: Sequence[Size]) -> Optional[int]:
    """The axis that is not of size 1, where all others are."""
    longer = [axis for axis, size in enumerate(shape) if size != 1]
    return longer[0] if len(longer) == 1 else None


def steps_of(array: numpy.ndarray) -> Optional[tuple[int, int, int]]:
    """(axis, begin, step) of integers that count along one axis."""
    for axis, size in enumerate(array.shape):
        if size < 2 or array.size == 0:
            continue
        row = numpy.moveaxis(array, axis, -1).reshape(-1, size)
        begin, step = int(row[0, 0]), int(row[0, 1]) - int(row[0, 0])
        if (row == begin + step * numpy.arange(size)).all():
            return axis, begin, step
    return None
