"""Facts of operations, as ir/ops/scalar_ops.def and ir/ops/ops.def have them; tests/python/package/test_operations.py
compares both."""

from __future__ import annotations

FLAGS = frozenset("lt le gt ge eq ne logical_and logical_or logical_not".split())
"""Pointwise operations whose results are flags."""
LOGICAL = frozenset("logical_and logical_or logical_not".split())
"""Pointwise operations whose operands are flags as well."""
REALS = frozenset("exp expm1 log log1p sqrt rsqrt reciprocal tanh sigmoid erf erfc sin cos".split())
"""Pointwise operations of floats alone."""
WITHOUT_DERIVATIVE = FLAGS | {"sign", "floor", "stop_gradient"}
"""Operations that no derivative passes."""
KEEPS_NUMBERS = frozenset(
    "reshape transpose broadcast slice strided_slice windows gather concat convert stop_gradient".split()
) | {"reduce max", "reduce min"}
"""Operations whose results have no other numbers than their first operand, or, of a concat, than all of them."""
