#!/usr/bin/env python3
"""Lines "LANGUAGE TAB TEXT" of the translations that Debian installs: language_lines.py OUT.tsv

Languages that resemble one another, and as many messages of each, chosen with a fixed seed."""

import glob
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"))
import mo_pairs_to_safetensors

LANGUAGES = ("da", "nb", "nn", "sv", "es", "pt", "gl", "it", "ca", "hr", "sk", "cs")
COUNT, SHORTEST = 1800, 24


def texts_of(language):
    texts = set()
    for path in glob.glob(f"/usr/share/locale/{language}/LC_MESSAGES/*.mo"):
        for _, translation in mo_pairs_to_safetensors.read_catalogue(path):
            text = b" ".join(translation.split(b"\0")[0].split())
            if len(text) >= SHORTEST:
                texts.add(text.decode("utf-8", "replace"))
    texts = sorted(texts)
    random.Random(language).shuffle(texts)
    return texts[:COUNT]


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for language in LANGUAGES:
            file.writelines(f"{language}\t{text}\n" for text in texts_of(language))


if __name__ == "__main__":
    main()
