"""What callers give, looked at before compiled code sees it: a fault is an error of that argument."""

from __future__ import annotations

import json
import numbers
import operator
from typing import Any, Mapping

from .errors import Error


def whole(what: str, value: Any, least: int, below: int) -> int:
    """A whole number of Python or of a library."""
    try:
        number = operator.index(value)
    except TypeError:
        raise Error(f"{what}: {value!r}, expected a whole number") from None
    if not least <= number < below:
        raise Error(f"{what}: {number}, expected a number from {least} to {below - 1}")
    return number


def check_momentum(value: Any) -> None:
    """Of an update rule, where it is given."""
    if value is None:
        return
    if not isinstance(value, numbers.Real) or not 0 <= value < 1:
        raise Error(f"momentum: {value!r}, expected a number from 0 on, below 1, such as 0.9")


def named(what: str, arrays: Any) -> Mapping[str, Any]:
    """Arrays by name."""
    if not isinstance(arrays, Mapping):
        raise Error(f"{what}: a {type(arrays).__name__}, expected a mapping of names to arrays")
    for name in arrays:
        if not isinstance(name, str):
            raise Error(f"{what}: the name {name!r} is a {type(name).__name__}, expected a str")
    return arrays


def _of_python(value: Any) -> Any:
    """Numbers and arrays of a library, such as NumPy's, as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is no number, text or list")


def json_text(what: str, value: Any) -> str:
    try:
        return json.dumps(value, default=_of_python)
    except (TypeError, ValueError) as problem:
        raise Error(f"{what}: expected what JSON can hold: {problem}") from None
