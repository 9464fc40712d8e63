#!/usr/bin/env python3
"""Pairs of messages from gettext catalogues (.mo) as a data set for translation, byte by byte.

Usage: mo_pairs_to_safetensors.py OUT.safetensors [--longest N] [--held-back SHARE] [--held-back-text FILE]
                                  [CATALOGUE.mo ...]

Without catalogues it takes /usr/share/locale/de/LC_MESSAGES/*.mo: English to German, as Debian installs them.

  input_ids       I32 [N,S]  the message, then the end token (ids: byte_tokens.py)
  attention_mask  U8  [N,S]  0 behind the end
  labels          I32 [N,T]  its translation, then the end token; -100 behind it

Messages of more than --longest bytes on either side are left out, and so are plurals, second translations of one
message, and names that stay as they are. The pairs are shuffled with a fixed seed, so that the end of the file is a fair sample; --held-back-text
writes that end, the share --held-back, as lines "message TAB translation".
"""

import argparse
import glob
import random
import struct

import numpy as np

import byte_tokens
import safetensors_file


def read_catalogue(path):
    """(message, translation) of one .mo file; both byte orders."""
    data = open(path, "rb").read()
    order = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}.get(data[:4])
    if order is None:
        raise SystemExit(f"{path}: not a .mo catalogue")
    count, messages, translations = struct.unpack_from(order + "3I", data, 8)
    for i in range(count):
        texts = []
        for table in (messages, translations):
            length, begin = struct.unpack_from(order + "2I", data, table + 8 * i)
            texts.append(data[begin:begin + length])
        if texts[0] and b"\0" not in texts[0]:  # the header, and plurals
            yield texts[0].split(b"\4")[-1], texts[1]  # behind a context


def read_pairs(paths, longest):
    pairs = {}
    for path in paths:
        for message, translation in read_catalogue(path):
            if not translation or message == translation or max(len(message), len(translation)) > longest:
                continue
            try:
                pairs.setdefault(message.decode(), translation.decode())
            except UnicodeDecodeError:
                pass  # a catalogue in an old encoding
    pairs = sorted(pairs.items())
    random.Random(0).shuffle(pairs)
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("catalogues", nargs="*")
    parser.add_argument("--longest", type=int, default=32)
    parser.add_argument("--held-back", type=float, default=0.05)
    parser.add_argument("--held-back-text")
    options = parser.parse_args()
    paths = options.catalogues or sorted(glob.glob("/usr/share/locale/de/LC_MESSAGES/*.mo"))
    pairs = read_pairs(paths, options.longest)
    if not pairs:
        raise SystemExit("there are no pairs: name .mo catalogues")
    sources = [byte_tokens.encode(source) + [byte_tokens.END] for source, _ in pairs]
    targets = [byte_tokens.encode(target) + [byte_tokens.END] for _, target in pairs]
    safetensors_file.write(options.out, {
        "input_ids": safetensors_file.padded(sources, byte_tokens.PAD),
        "attention_mask": safetensors_file.padded([[1] * len(s) for s in sources], 0, np.uint8),
        "labels": safetensors_file.padded(targets, -100)})
    print(f"{options.out}: {len(pairs)} pairs from {len(paths)} catalogues")
    if options.held_back_text:
        kept = pairs[len(pairs) - int(len(pairs) * options.held_back):]
        with open(options.held_back_text, "w", encoding="utf-8") as file:
            for source, target in kept:
                if "\t" not in source + target and "\n" not in source + target:
                    file.write(f"{source}\t{target}\n")


if __name__ == "__main__":
    main()
