"""What of a module can be compiled."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional

import torch

from ..errors import Error
from .arguments import check_sample, check_shapes, checked_bounds
from .capture import capture
from .importer import Missing
from .process import checked_module
from .program import build_program


@dataclass
class Coverage:
    """`missing`: what has no row, each with the modules that use it. `operations`: how often each one is used."""

    module: str
    missing: list[Missing] = field(default_factory=list)
    operations: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether all of it can be compiled."""
        return not self.missing

    def __str__(self) -> str:
        count = sum(self.operations.values())
        head = f"{self.module}: {count} operations of {len(self.operations)} kinds"
        if not self.missing:
            return head + ", all of which Smelt has"
        return f"{head}; without a row:\n  " + "\n  ".join(str(m) for m in self.missing)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def coverage(
    module: torch.nn.Module,
    sample: Any,
    *,
    dynamic_shapes: Optional[Mapping[str, Any]] = None,
    max: Optional[Mapping[str, int]] = None,
    mode: str = "infer",
) -> Coverage:
    """All operations and sizes of the module's forward that cannot be compiled, at once."""
    module = checked_module(module)
    check_sample(sample)
    check_shapes(dynamic_shapes)
    bounds = checked_bounds(max, dynamic_shapes)
    captured = capture(module, sample, dynamic_shapes, bounds, mode == "train")
    result = Coverage(type(module).__name__)
    try:
        program = build_program(module, captured, bounds)
        result.missing, result.operations = program.missing, program.operations
    except Error as problem:
        result.missing.append(Missing("the module", str(problem), [""]))
    return result
