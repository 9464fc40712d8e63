"""Refusals of operators that there is no row for."""

from __future__ import annotations

from typing import Optional, Sequence

import onnx

from .call import Known, Thing
from .reasons import COUNTED, OPERATORS
from .refusal import NeedsKnown, Refusal


def refused(node: onnx.NodeProto, domain: str, inputs: Sequence[Optional[Thing]]) -> Exception:
    """Returns the error of an operator without a row."""
    traced = [i for i, thing in enumerate(inputs) if thing is not None and not isinstance(thing, Known)]
    if node.op_type in COUNTED and not domain and traced:
        what = f"the number of {COUNTED[node.op_type]} follows from operand {traced[0]}, which is no constant; it"
        return NeedsKnown(frozenset().union(*(inputs[i].inputs for i in traced)), what)
    name = f"operator {domain + '.' if domain else ''}{node.op_type}"
    return Refusal(f"{name}: {OPERATORS[node.op_type]}" if node.op_type in OPERATORS else name)
