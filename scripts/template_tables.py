#!/usr/bin/env python3
"""Writes runtime/templates/characters.inc: properties and case mappings of code points as Python's `str` defines them.

Usage: scripts/template_tables.py [OUT]      (Python 3.11, whose Unicode is version 14)

Runs of code points with equal properties are rows {first, properties}. Case mappings to one code point are rows
{first, last, step, difference}; the others are rows {code point, text}.
"""
import os
import sys

LAST = 0x110000
PROPERTIES = [str.isalpha, str.isdecimal, str.isdigit, str.isnumeric, str.isspace, str.isupper, str.islower,
              lambda c: c.istitle() and not c.isupper(), str.isprintable, str.isidentifier, lambda c: ("a" + c).isidentifier(),
              lambda c: skipped_by_sigma(c), lambda c: cased(c)]


def skipped_by_sigma(c):
    """Case-ignorable: a final sigma stays final before this code point, and one after it and a letter is final."""
    return ("A" + "\u03a3" + c + "A").lower()[1] == "\u03c3" and ("A" + "\u03a3" + c + "!").lower()[1] == "\u03c2"\
        and ("A" + c + "\u03a3").lower()[-1] == "\u03c2" and ("!" + c + "\u03a3").lower()[-1] == "\u03c3"


def cased(c):
    return ("!" + c + "\u03a3").lower()[-1] == "\u03c2"


def properties(code):
    c = chr(code)
    return sum(1 << bit for bit, holds in enumerate(PROPERTIES) if holds(c)) if not 0xD800 <= code < 0xE000 else 0


def runs():
    previous = None
    for code in range(LAST):
        here = properties(code)
        if here != previous:
            yield code, here
        previous = here


def mapped(function):
    simple, texts = [], []
    for code in range(LAST):
        if 0xD800 <= code < 0xE000:
            continue
        to = function(chr(code))
        if len(to) != 1:
            texts.append((code, to))
        elif ord(to) != code:
            simple.append((code, ord(to) - code))
    return simple, texts


def folded(pairs):
    """Joins neighbours that have the same difference and lie one or two apart."""
    rows = []
    for code, difference in pairs:
        if rows:
            first, last, step, other = rows[-1]
            gap = code - last
            if other == difference and (gap == step or first == last and gap <= 2):
                rows[-1] = (first, code, gap, difference)
                continue
        rows.append((code, code, 1, difference))
    return rows


def write(out, kind, name, rows):
    out.write(f"constexpr {kind} {name}[] = {{\n")
    line = "   "
    for row in rows:
        if len(line) + len(row) > 106:
            out.write(line + "\n")
            line = "   "
        line += f" {row},"
    out.write(line + "\n};\n")


def literal(text):
    return 'U"' + "".join(f"\\U{ord(c):08X}" for c in text) + '"'


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../runtime/templates/characters.inc")
    with open(path, "w", encoding="utf-8") as out:
        out.write("// Written by scripts/template_tables.py.\n")
        write(out, "Run", "kRuns", [f"{{0x{code:X}, {bits}}}" for code, bits in runs()])
        for name, function in (("Upper", str.upper), ("Lower", str.lower), ("Title", str.title),
                               ("Fold", str.casefold)):
            simple, texts = mapped(function)
            write(out, "Shift", f"k{name}Shifts", [f"{{0x{a:X}, 0x{b:X}, {s}, {d}}}" for a, b, s, d in folded(simple)])
            write(out, "Spelled", f"k{name}Texts", [f"{{0x{code:X}, {literal(to)}}}" for code, to in texts])


if __name__ == "__main__":
    main()
