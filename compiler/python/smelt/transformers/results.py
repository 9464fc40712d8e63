"""The file of results: a line per class, appended as soon as it is known, one file per version of transformers."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

Line = dict[str, Any]
PARTS = ("build", "forward", "generate", "train")
FAULTS = ("wrong", "crash")


def read(path: pathlib.Path) -> dict[str, Line]:
    """The last line of each class."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines() if line]
    return {line["class"]: line for line in lines}


def append(path: pathlib.Path, line: Line) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def is_decoder(name: str) -> bool:
    return name.endswith(("ForCausalLM", "LMHeadModel"))


def line_of(folder: str, name: str, parts: dict[str, dict[str, Any]]) -> Line:
    """What ended the process counts as the outcome of the part that was at work."""
    parts = dict(parts)
    end = parts.pop("end", None)
    if end is not None:
        open_parts = [part for part in PARTS if part not in parts and (part != "generate" or is_decoder(name))]
        parts[open_parts[0] if open_parts else "train"] = end
    for outcome in parts.values():
        outcome.update({key: shortened(outcome[key]) for key in ("note", "fixed") if key in outcome})
    return {"folder": folder, "class": name, "parts": parts}


def shortened(note: str) -> str:
    """A refusal in one line."""
    note = re.sub(r"^\w+ (uses what Smelt cannot do|cannot be exported): ?", r"\1: ", note)
    return re.sub(r"\s+", " ", note)[:240].strip()


def kind(line: Line, part: str) -> str:
    return line["parts"].get(part, {}).get("kind", "")
