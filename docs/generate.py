#!/usr/bin/env python3
"""Writes the reference pages that commands print: generate.py SMELT FOLDER

SMELT is the program, FOLDER the reference folder of a copy of docs/. The pages that the repository keeps (operations, compile
options, environment) are compared with the program by tests, so they are not written here.

    generate.py --spec-fields     writes docs/reference/spec_fields.md, which the repository keeps, from frontend/

With FOLDER, that page is compared with frontend/, and a difference is an error."""

import pathlib
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout


def passes(smelt):
    """The table of all passes, by what they transform."""
    units = {}
    for line in output(smelt, "opt", "--list").splitlines():
        name, unit, need, text = line.split(None, 3)
        units.setdefault(unit, []).append((name, need, text))
    page = "# Passes\n\nMade from `smelt opt --list`. A required pass cannot be left out; `--disable-pass=NAME` leaves out an optional one.\n"
    for unit, rows in units.items():
        page += f"\n## {unit.capitalize()} passes\n\n| pass | required | does |\n|---|---|---|\n"
        page += "".join(f"| `{name}` | {'yes' if need == 'required' else 'no'} | {text} |\n" for name, need, text in rows)
    return page


def command_line(smelt):
    """The help of every command."""
    overview = output(smelt, "--help")
    page = f"# Command line\n\nMade from `smelt --help` and `smelt COMMAND --help`.\n\n```\n{overview.strip()}\n```\n"
    for name in re.findall(r"^  (\w+) {2,}\S", overview[overview.index("Subcommands"):], re.M):
        page += f"\n## {name}\n\n```\n{output(smelt, name, '--help').strip()}\n```\n"
    return page


# ---- fields of a specification, from frontend/

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPEC_PAGE = ROOT / "docs" / "reference" / "spec_fields.md"
SPEC_HEAD = """# Fields of a specification

A specification is a JSON object that describes a transformer ([models](../guides/models.md#a-spec)). A dot separates a group from its
field: `decoder.layers` is `{"decoder": {"layers": 4}}`. The defaults are those of the family `transformer`; another `family` has its own.
Unknown keys and values out of range are one error that lists all of them. `smelt dump SPEC --emit=graph` shows the graphs that a
specification gives.

Made from `frontend/transformer_spec.h`, `spec_fields.def` and `spec_values.h` by `docs/generate.py --spec-fields`.
"""


def fields_of_table():
    """(member, smallest, largest) of each row of spec_fields.def, in order."""
    text = (ROOT / "frontend" / "spec_fields.def").read_text()
    row = r"SMELT_SPEC_FIELD\(([\w.]+), ([^,]+), ([^,)]+)\)"
    stack = re.search(r"#define SMELT_STACK_FIELDS\(stack\)((?:.*\\\n)*.*)\n", text)
    rest = text.replace(stack[0], "")
    rest = re.sub(r"SMELT_STACK_FIELDS\((\w+)\)", lambda use: stack[1].replace("stack.", use[1] + "."), rest)
    return [found.groups() for found in re.finditer(row, rest) if found[1] != "member"]


def comments_of(lines, number):
    """The text of a declaration: what stands right after it, and the comment of `///` before it."""
    before = []
    at = number - 1
    while at >= 0 and lines[at].strip().startswith("///"):
        before.insert(0, lines[at].strip()[3:].strip())
        at -= 1
    after = re.search(r";\s*// (.*)", lines[number])
    return " ".join(before + ([after[1]] if after else [])).strip()


def members_of_header():
    """{"norm.eps": (type, default, text)} of the structs in transformer_spec.h, and {enum: text}."""
    lines = (ROOT / "frontend" / "transformer_spec.h").read_text().splitlines()
    members, enums, struct, group = {}, {}, None, None
    for number, line in enumerate(lines):
        enum = re.match(r"enum class (\w+)", line)
        outer, inner = re.match(r"struct (\w+) \{", line), re.match(r"  struct (\w+) \{", line)
        member = re.match(r" +([\w:<>]+) (\w+)(?: = ([^;]+))?;", line)
        if enum:
            enums[enum[1]] = comments_of(lines, number)
        elif outer or inner:
            struct, group = (outer or inner)[1], None if outer else (inner[1].lower() + ".")
        elif re.match(r"  \} \w+;", line):
            struct, group = "TransformerSpec", None
        elif member and struct in ("StackSpec", "TransformerSpec") or member and group:
            prefixes = ["encoder.", "decoder."] if struct == "StackSpec" else [group or ""]
            for prefix in prefixes:
                members[prefix + member[2]] = (member[1], member[3], comments_of(lines, number))
    return members, enums


def choices():
    """{enum: names in JSON} of spec_values.h."""
    text = (ROOT / "frontend" / "spec_values.h").read_text()
    return {found[1]: re.findall(r'"(\w+)"', found[2]) for found in re.finditer(r"SMELT_CHOICES\((\w+), ([^)]*)\)", text)}


def value_of(kind, default, names):
    """A default as JSON spells it."""
    if kind.startswith("std::vector"):
        return "[]"
    if kind in names:
        enumerators = re.search(rf"enum class {kind} : uint8_t \{{([^}}]*)\}};", (ROOT / "frontend" / "transformer_spec.h").read_text())
        return names[kind][re.findall(r"\w+", enumerators[1]).index(default.split("::")[1])]
    return default.strip('"')


def kind_of(kind, low, high, names):
    """What a field takes, and its range."""
    element = re.sub(r"std::vector<(.*)>", r"\1", kind)
    known = {"kLargestSize": "", "-kLargestSize": "", "kLargestDropout": "0.999", "1 << 20": "1048576"}
    if element in names:
        text = ", ".join(f"`{name}`" for name in names[element])
    elif element == "bool":
        text = "true or false"
    elif element == "std::string":
        text = "text"
    else:
        low, high = known.get(low, low), known.get(high, high)
        text = "integer" if element == "int64_t" else "number"
        text += f", {low} to {high}" if high else f", {low} or more" if low else ""
    return "list of " + text if element != kind else text


def spec_fields():
    """The page of all fields. Throws ValueError naming the fields that have no text."""
    (members, enums), names = members_of_header(), choices()
    sections, silent = {"The model": ""}, []
    for name, low, high in fields_of_table():
        kind, default, text = members.get(name, ("", "", ""))
        more = enums.get(re.sub(r"std::vector<(.*)>", r"\1", kind), "")
        if not text and not more:
            silent.append(name)
            continue
        section = name.split(".")[0] if "." in name else "The model"
        default = "required" if default == "0" and low == "1" else f"`{value_of(kind, default, names)}`"
        meaning = ". ".join(part.rstrip(".") for part in (more, text) if part)
        row = f"| `{name}` | {kind_of(kind, low, high, names)} | {default} | {meaning} |\n"
        sections[section] = sections.get(section, "") + row
    if silent:
        raise ValueError("frontend/transformer_spec.h: no comment of " + ", ".join(silent))
    head = "| field | takes | default | meaning |\n|---|---|---|---|\n"
    return SPEC_HEAD + "".join(f"\n## {section}\n\n{head}{rows}" for section, rows in sections.items())


# ---- what the pages must say

TABLES = ("operations", "passes", "compile_options", "environment", "spec_fields")


def without_prose(page):
    """Names of a page's operations, attributes, passes, options, variables and fields that no words explain."""
    named = [(line.split("|")[1], line.split("|")[-2]) for line in page.splitlines() if line.startswith("| `")]
    named += re.findall(r"^### (\w+)\n\n(.*)$", page, re.M)
    return [name.strip() for name, text in named if not re.search(r"\w", text.split(":", 1)[-1])]


def require_prose(folder):
    """Exits with the names that have none."""
    silent = [f"{table}: {name}" for table in TABLES for name in without_prose((folder / f"{table}.md").read_text())]
    if silent:
        sys.exit("docs/reference: no words explain " + ", ".join(silent))


def main():
    if sys.argv[1:] == ["--spec-fields"]:
        SPEC_PAGE.write_text(spec_fields())
        return
    if SPEC_PAGE.read_text() != spec_fields():
        sys.exit("docs/reference/spec_fields.md is not that of frontend/: docs/generate.py --spec-fields writes it")
    smelt, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    (folder / "passes.md").write_text(passes(smelt))
    (folder / "command_line.md").write_text(command_line(smelt).replace(smelt, "smelt"))
    require_prose(folder)


if __name__ == "__main__":
    main()
