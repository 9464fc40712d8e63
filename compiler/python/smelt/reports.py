"""What people read in a terminal or a notebook."""

from __future__ import annotations

import html
import shutil
import subprocess
from typing import TYPE_CHECKING, Any, Iterable

from . import _native

if TYPE_CHECKING:
    from .plan import Plan


def bytes_text(count: int) -> str:
    """ "12.3 MiB" """
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value /= 1024
    else:
        unit = "TiB"
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def table_text(rows: Iterable[tuple[str, str]]) -> str:
    rows = list(rows)
    width = max((len(what) for what, _ in rows), default=0)
    return "\n".join(f"{what:<{width}}  {found}" for what, found in rows)


def table_html(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def row(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f'<{tag} style="text-align:left">{html.escape(c)}</{tag}>' for c in cells) + "</tr>"

    return "<table>" + row(header, "th") + "".join(row(cells, "td") for cells in rows) + "</table>"


class Memory(dict):
    """Bytes: "total" on the device, of which "states" (by role), "arena" and "constants"; "arena_of_entry", whose
    largest the arena is; "peak_of_entry"; and "host", of states that a GPU leaves in the memory of the host.

    A peak is the step ("step" of "steps", its "phase" and "sources") at which the entry uses the most "bytes" of the
    arena. "alive" lists what does, largest first: "bytes" of so many "buffers" of one "role" and one "source", in
    which "*" is the number of any layer. It is None for an entry that keeps nothing there."""

    def _rows(self) -> list[tuple[str, str]]:
        rows = [(role, bytes_text(count)) for role, count in self["states"].items()]
        rows += [(name, bytes_text(self[name])) for name in ("constants", "arena", "total")]
        return rows + ([("host", bytes_text(self["host"]))] if self["host"] else [])

    def __str__(self) -> str:
        return table_text(self._rows())

    def _repr_html_(self) -> str:
        return table_html(("memory", "bytes"), self._rows())


class Graph(str):
    """Graphs as text; `dot` is the same for Graphviz, and notebooks draw it."""

    def __new__(cls, text: str, dot: str) -> Graph:
        made = super().__new__(cls, text)
        made.dot = dot
        return made

    def _repr_html_(self) -> str:
        if shutil.which("dot") is None:
            return f"<pre>{html.escape(self)}</pre>"
        drawn = subprocess.run(["dot", "-Tsvg"], input=self.dot, capture_output=True, text=True)
        if drawn.returncode != 0:
            return f"<pre>{html.escape(self)}</pre>"
        return drawn.stdout[drawn.stdout.index("<svg") :]


class Doctor(dict):
    """What was found, by what was looked for."""

    def __repr__(self) -> str:
        return table_text(self.items())

    def _repr_html_(self) -> str:
        return table_html(("what", "found"), self.items())


def doctor(measure: bool = True) -> Doctor:
    """What this machine offers and which libraries were found. `measure`: the bandwidth of a copy, too."""
    return Doctor(_native.doctor(measure))


def ports_text(ports: list[dict[str, Any]]) -> str:
    return ", ".join(f"{p['name']}: {p['dtype']}{p['shape']}" + (" (optional)" if p["optional"] else "") for p in ports)


def plan_html(plan: Plan) -> str:
    """The entries of a plan with their inputs and outputs, and its memory."""
    bounds = ", ".join(f"{name} \u2264 {upper}" for name, upper in plan.bounds.items())
    head = f"<b>smelt.Plan</b> of {html.escape(plan.path)} for {html.escape(plan.target)}; {html.escape(bounds)}"
    rows = [
        (name, ports_text(e["inputs"]), ports_text(e["outputs"]), str(e["steps"]), bytes_text(e["arena_bytes"]))
        for name, e in plan.entries.items()
    ]
    entries = table_html(("entry", "inputs", "outputs", "steps", "arena"), rows)
    return f"<div>{head}</div>{entries}{plan.memory()._repr_html_()}"
