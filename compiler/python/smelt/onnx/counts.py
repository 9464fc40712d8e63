"""The counts of conformance as docs/guides/onnx.md has them."""

from __future__ import annotations

import collections
import pathlib
import textwrap
from typing import TYPE_CHECKING, Mapping, Sequence

if TYPE_CHECKING:
    from .conformance import Result

BEGIN, END = "<!-- counts -->", "<!-- end of counts -->"
WIDTH = 120


def renew(path: str, results: Sequence[Result]) -> None:
    """Writes the counts between the two marks of the file."""
    place = pathlib.Path(path)
    before, rest = place.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    place.write_text(f"{before}{BEGIN}\n{text_of(results)}\n{END}{after}", encoding="utf-8")


def text_of(results: Sequence[Result]) -> str:
    kinds = collections.Counter(result.kind for result in results)
    refused, wrong = kinds["refused"], kinds["wrong"]
    passed = len(results) - refused - wrong
    head = f"{len(results):,} cases: {passed:,} pass, {refused:,} are refused, {wrong or 'none'} is wrong."
    how = (
        f"Of the cases that pass, {kinds['plain']:,} become a plan for any inputs of the case's sizes, and "
        f"{kinds['sizes']:,} a plan for the given values of the inputs that determine sizes. "
        f"{kinds['constant']:,} are computed completely at import."
    )
    return "\n\n".join([head, _wrapped(how), *_operators(results), _reasons(results)])


def _operators(results: Sequence[Result]) -> list[str]:
    rows: Mapping[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for result in results:
        rows[result.operator][result.kind not in ("refused", "wrong")] += 1
    names = sorted(rows)
    whole = [f"{name} {rows[name][True]}" for name in names if not rows[name][False]]
    part = [f"{name} {rows[name][True]}/{rows[name].total()}" for name in names if all(rows[name][k] for k in (0, 1))]
    none = [f"{name} {rows[name][False]}" for name in names if not rows[name][True]]
    heads = ("**All cases pass** of", "**Some pass** (passed of all)", "**None passes** of")
    return [_wrapped(f"{head}: {', '.join(each)}.") for head, each in zip(heads, (whole, part, none)) if each]


def _reasons(results: Sequence[Result]) -> str:
    reasons = collections.Counter(result.why for result in results if result.kind == "refused")
    rows = [f"| `{why}` | {count} |" for why, count in reasons.most_common()]
    return "\n".join(["| what is refused | cases |", "|---|---:|", *rows])


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
