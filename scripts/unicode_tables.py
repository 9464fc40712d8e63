#!/usr/bin/env python3
"""Writes runtime/tokenizers/unicode/tables.inc: what Hugging Face's `tokenizers` does to every code point.

Usage: scripts/unicode_tables.py [OUT]      (pip install tokenizers==0.23.3; libutf8proc)

`tokenizers` mixes libraries of several Unicode versions, so each class is asked of the package itself. Classes are
alternating lengths of runs outside and inside. Decompositions and combining classes come from utf8proc at run time,
for the code points in `decomposes`, `decomposes_compatibly` and `combines` alone: Unicode never changes them once assigned.
"""
import ctypes
import ctypes.util
import os
import sys
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers as N, pre_tokenizers as P

CHARS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
BESIDE = "\x01"  # in no class but bert_dropped


def kept(pre_tokenizer, beside=BESIDE):
    """The code points that come out as pieces of their own between two others."""
    text = beside + beside.join(CHARS) + beside
    return {ord(p) for p, _ in pre_tokenizer.pre_tokenize_str(text) if len(p) == 1 and p != beside}


def removed(pre_tokenizer, beside="a"):
    text = beside + beside.join(CHARS) + beside
    missing, at = set(), 0
    for _, (begin, end) in pre_tokenizer.pre_tokenize_str(text):
        missing.update(range(at, begin))
        at = end
    return {ord(text[i]) for i in missing}


def where(holds):
    return {ord(c) for c in CHARS if holds(c)}


def pattern(text):
    return kept(P.Split(Regex(text), "isolated"))


CLEAN, ACCENTS = N.BertNormalizer(True, False, False, False), N.BertNormalizer(False, False, True, False)
FORMS = {form: getattr(N, form)().normalize_str for form in ("NFC", "NFD", "NFKC", "NFKD")}


class Utf8proc:
    STABLE, COMPAT, COMPOSE, DECOMPOSE = 1 << 1, 1 << 2, 1 << 3, 1 << 4

    def __init__(self):
        self.library = ctypes.CDLL(ctypes.util.find_library("utf8proc") or "libutf8proc.so.2")

    def decompose(self, c, options):
        out = (ctypes.c_int32 * 64)()
        count = self.library.utf8proc_decompose_char(ctypes.c_int32(ord(c)), out, ctypes.c_ssize_t(64),
                                                     ctypes.c_int(options), ctypes.byref(ctypes.c_int(0)))
        return "".join(map(chr, out[:count]))

    def combining_class(self, c):
        get = self.library.utf8proc_get_property
        get.restype = ctypes.POINTER(ctypes.c_int16)
        return get(ctypes.c_int32(ord(c)))[1]


def decompositions(utf8proc):
    canonical = where(lambda c: FORMS["NFD"](c) != c)
    compatible = where(lambda c: FORMS["NFKD"](c) != c)
    wrong = [c for c in canonical if FORMS["NFD"](chr(c)) != utf8proc.decompose(chr(c), Utf8proc.DECOMPOSE)]
    wrong += [c for c in compatible
              if FORMS["NFKD"](chr(c)) != utf8proc.decompose(chr(c), Utf8proc.DECOMPOSE | Utf8proc.COMPAT)]
    assert not wrong, f"utf8proc decomposes otherwise: {[hex(c) for c in wrong]}"
    return canonical, compatible


def combining(utf8proc):
    """A code point with a combining class changes places with one of a higher or of a lower class."""
    marks = {}
    for c in map(chr, range(0x300, 0x370)):
        marks.setdefault(utf8proc.combining_class(c), c)
    low, high = "\u0334", "\u0345"  # classes 1 and 240
    swaps = lambda c: FORMS["NFD"]("a" + c + low)[1] == low or FORMS["NFD"]("a" + high + c)[1] == c
    found = {ord(c) for c in CHARS if utf8proc.combining_class(c) and swaps(c)}
    extra = [c for c in CHARS if not utf8proc.combining_class(c) and ord(c) > 0x300 and FORMS["NFD"](c) == c and swaps(c)]
    assert not extra, f"utf8proc has no class for {extra}"
    return found | {0x334}


def lower_cases():
    """Rows {first, last, step, delta} for single results; and the code points with several."""
    pairs, several = [], {}
    for c in CHARS:
        lower = N.Lowercase().normalize_str(c)
        if len(lower) > 1:
            several[ord(c)] = lower
        elif lower != c:
            pairs.append((ord(c), ord(lower) - ord(c)))
    rows = []
    for c, delta in pairs:
        row = rows[-1] if rows else None
        if row and row[3] == delta and c - row[1] in ((row[2],) if row[0] != row[1] else (1, 2)):
            row[2] = c - row[1]
            row[1] = c
        else:
            rows.append([c, c, 1, delta])
    assert list(several) == [0x130], several
    return rows


# For each general category, code points of Unicode 14 that take three and four bytes of UTF-8.
KNOWN = {
    "Lu": (0x1E00, 0x10400), "Ll": (0x1E01, 0x10428), "Lm": (0x1D2C, 0x16B40), "Lo": (0x1401, 0x10280),
    "Mn": (0x0F35, 0x101FD), "Mc": (0x0F3E, 0x11000), "Nd": (0x0F20, 0x104A0), "Nl": (0x2160, 0x10140),
    "No": (0x2070, 0x10107), "Pd": (0x2010, 0x10EAD), "Po": (0x2016, 0x10100), "Sm": (0x2044, 0x1D6C1),
    "Sc": (0x20A0, 0x11FDD), "Sk": (0x1FBD, 0x1F3FB), "So": (0x2100, 0x10137), "Cf": (0x200B, 0x110BD)}
HAN = (0x3400, 0x20000)


def recent():
    """Rows {first, last, known}: code points newer than Unicode 14, which is PCRE2's in Debian 12, and one of 14 that
    is like each, as far as expressions tell code points apart by categories."""
    assert unicodedata.unidata_version == "14.0.0", "expected Python 3.11"
    unassigned = {ord(c) for c in CHARS if unicodedata.category(c) == "Cn"}
    new = unassigned - pattern(r"\p{Cn}")
    known, han = {}, pattern(r"\p{Han}")
    for category, places in KNOWN.items():
        assert all(unicodedata.category(chr(c)) == category for c in places), category
        for c in pattern(rf"\p{{{category}}}") & new:
            known[c] = (HAN if c in han else places)[c > 0xFFFF]
    assert set(known) == new and min(new) >= 0x800, [hex(c) for c in new - set(known)]
    rows = []
    for c in sorted(new):
        if rows and rows[-1][1] == c - 1 and rows[-1][2] == known[c]:
            rows[-1][1] = c
        else:
            rows.append([c, c, known[c]])
    return rows


def grapheme_extending():
    """Behind an 'a' in one grapheme, as a Precompiled normalizer sees it: its rule for 'a' then takes both."""
    array = [0] * 512
    # A trie of the one key 'a': root -> 'a' -> leaf with value 0.
    array[0] = 1 << 10                              # offset 1
    array[1 ^ 0x61] = 0x61 | 1 << 8 | 2 << 10       # label, has a leaf, offset 2
    array[1 ^ 0x61 ^ 2] = 1 << 31
    blob = (4 * len(array)).to_bytes(4, "little") + b"".join(v.to_bytes(4, "little") for v in array) + b"X\0"
    rule = N.Precompiled(blob)
    assert rule.normalize_str("bab") == "bXb"
    return where(lambda c: rule.normalize_str("a" + c) == "X")


def runs(members):
    lengths, inside, count = [], False, 0
    last = max(members)
    for c in range(last + 2):
        if (c in members) == inside:
            count += 1
        else:
            lengths.append(count)
            inside, count = not inside, 1
    return lengths


def rows(numbers):
    line, lines = "    ", []
    for number in numbers:
        if len(line) + len(number) > 116:
            lines.append(line.rstrip())
            line = "    "
        line += number + ", "
    return "\n".join(lines + [line.rstrip()])


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", "runtime", "tokenizers", "unicode", "tables.inc")
    utf8proc = Utf8proc()
    canonical, compatible = decompositions(utf8proc)
    classes = {
        "letter": pattern(r"\p{L}"), "number": pattern(r"\p{N}"), "space": pattern(r"\s"),
        "upper_like": pattern(r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"), "lower_like": pattern(r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"),
        "word": kept(P.Whitespace(), "!"), "whitespace": removed(P.WhitespaceSplit()), "numeric": kept(P.Digits(True)),
        "punctuation": removed(P.Punctuation("removed")), "bert_dropped": where(lambda c: CLEAN.normalize_str("a" + c) == "a"),
        "accent": where(lambda c: ACCENTS.normalize_str(c) == ""),
        "mark": where(lambda c: N.StripAccents().normalize_str(c) == ""), "decomposes": canonical,
        "decomposes_compatibly": compatible, "combines": combining(utf8proc),
        "extends": grapheme_extending()}
    with open(out, "w") as file:
        file.write(f"// Written by scripts/unicode_tables.py with tokenizers {tokenizers.__version__}: do not edit.\n")
        for name, members in classes.items():
            file.write(f"\nconstexpr uint32_t k_{name}[] = {{\n{rows(map(str, runs(members)))}\n}};\n")
        lower = [f"{{{a}, {b}, {step}, {delta}}}" for a, b, step, delta in lower_cases()]
        file.write(f"\nconstexpr CaseRun kLowerCases[] = {{\n{rows(lower)}\n}};\n")
        newer = ["{" + ", ".join(map(hex, row)) + "}" for row in recent()]
        file.write(f"\nconstexpr RecentRun kRecent[] = {{\n{rows(newer)}\n}};\n")
    print({name: len(members) for name, members in classes.items()}, file=sys.stderr)


if __name__ == "__main__":
    main()
