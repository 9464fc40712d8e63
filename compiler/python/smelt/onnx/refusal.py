"""What Smelt cannot do with a model."""

from __future__ import annotations

from ..errors import Error


class Refusal(Error):
    """A model asks for what there is no row for. The message names the operator, and the attribute or the type."""

    def __init__(self, why: str) -> None:
        super().__init__(why, "invalid_argument")
        self.why = why


class NeedsKnown(Exception):
    """Compiling needs the numbers of a value that come from `inputs` of the graph."""

    def __init__(self, inputs: frozenset[str], what: str) -> None:
        super().__init__(what)
        self.inputs = inputs
        self.what = what

    def within(self, operator: str) -> NeedsKnown:
        return (
            self if self.what.startswith("operator ") else NeedsKnown(self.inputs, f"operator {operator}: {self.what}")
        )
