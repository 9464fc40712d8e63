"""Names of values and nodes: what a graph must keep to, and how messages call a node."""

from __future__ import annotations

import collections
from typing import Any, Iterable, Mapping, Optional, Sequence

import onnx

from .call import Known, Thing, Traced
from .refusal import Refusal


def refuse_twins(what: str, names: Iterable[str]) -> None:
    for name, count in collections.Counter(names).items():
        if count > 1:
            raise Refusal(f"{count} {what} are called '{name}'")


def place_of(node: onnx.NodeProto) -> str:
    if node.name:
        return f"the node '{node.name}'"
    results = [name for name in node.output if name]
    return f"the node that makes '{results[0]}'" if results else "a node without a name"


def check_names(
    node: onnx.NodeProto, scope: Mapping[str, Any], made: Iterable[str], nodes: Sequence[onnx.NodeProto]
) -> None:
    """Nodes read what is there, and no value is made twice. `made`: by the nodes before this one."""
    for name in node.input:
        if name and name not in scope:
            later = any(name in each.output for each in nodes)
            hint = "which only a later node makes: sort the nodes" if later else "which nothing makes"
            raise Refusal(f"it reads '{name}', {hint}")
    results = [name for name in node.output if name]
    refuse_twins("results", results)
    for name in results:
        if name in made:
            raise Refusal(f"it makes '{name}', which a node before it makes, too")


def unfit(inputs: Sequence[Optional[Thing]], error: Exception) -> str:
    """Of a row that could not go on: the operands, and the error, which is the cause of the refusal."""
    given = ", ".join(map(_described, inputs)) or "nothing"
    reason = " ".join(str(error).split())[:200]
    return f"it does not fit its operands and attributes; given {given} ({type(error).__name__}: {reason})"


def _described(thing: Optional[Thing]) -> str:
    if not isinstance(thing, (Known, Traced)):
        return "nothing" if thing is None else "a sequence or an optional"
    return f"{thing.element.name}[{','.join(map(str, thing.shape))}]"
