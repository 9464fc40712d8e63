"""What Smelt cannot do with a model."""

from __future__ import annotations

from ..errors import Error


class Refusal(Error):
    """A model asks for what there is no row for. The message names the operator, and the attribute or the type."""

    def __init__(self, why: str, place: str = "") -> None:
        super().__init__(why + (f" ({place})" if place else ""), "invalid_argument")
        self.why = why
        self.place = place
        """The node, by its name or by that of its result."""

    def within(self, operator: str, place: str) -> Refusal:
        """As the innermost node says it that is refused, with the nodes around it."""
        if self.why.startswith("operator "):
            return Refusal(self.why, around(self.place, place))
        return Refusal(f"operator {operator}: {self.why}", place)

    def __reduce__(self):  # with its place to other processes
        return type(self), (self.why, self.place)


MOST_PLACE = 200
"""Characters: functions may lie deep in one another."""


def around(place: str, outer: str) -> str:
    if not place or len(place) > MOST_PLACE:
        return place or outer
    return f"{place} in {outer}"


class NeedsKnown(Exception):
    """Compiling needs the numbers of a value that come from `inputs` of the graph."""

    def __init__(self, inputs: frozenset[str], what: str, place: str = "") -> None:
        super().__init__(what)
        self.inputs = inputs
        self.what = what
        self.place = place

    def within(self, operator: str, place: str) -> NeedsKnown:
        if self.what.startswith("operator "):
            return NeedsKnown(self.inputs, self.what, around(self.place, place))
        return NeedsKnown(self.inputs, f"operator {operator}: {self.what}", place)
