"""Rows of the derivatives that a module states itself (autograd_functions.py)."""

from __future__ import annotations

from typing import Any

from ...builder import Value
from ..registry import refuse, row


@row("smelt.cotangent.default")
def cotangent(w, out, like, id):
    return w.node("cotangent", [], out.dtype, out.shape, id=id)


@row("smelt.custom_vjp.default")
def custom_vjp(w, out, values, cotangents, inputs, gradients, choices) -> Any:
    """`gradients` are those of the inputs, once for each choice of used results, which are bits."""
    if choices:
        used = sum(1 << i for i, is_used in enumerate(w.used_results) if is_used)
        if used not in choices:
            refuse("a backward that cannot be traced where a result of the function is not used: it receives None for it")
        at = choices.index(used) * len(inputs)
        gradients = gradients[at : at + len(inputs)]
    pairs = [(x, g) for x, g in zip(inputs, gradients) if x.grad]
    if not pairs:
        return [w.stop(x) for x in values]
    operands = [*values, *cotangents, *(x for x, _ in pairs), *(w.operand(g, x.dtype, x.shape) for x, g in pairs)]
    results: list[Value] = w.nodes("custom_vjp", operands, results=len(values))
    for x in results:
        x.grad = True
    return results
