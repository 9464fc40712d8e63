#!/usr/bin/env python3
"""A directory with a spec and a tokenizer of as many tokens, for benchmarks of structured output without a trained model.

Usage: random_tokenizer.py SPEC DIRECTORY

The tokenizer is a byte-level BPE, whose tokens are the bytes and random joins of two earlier tokens, up to 12 characters
long: 80 of 100 of letters, some behind a space, 15 of printable ASCII characters, and 5 of any bytes.
"""
import json
import random
import shutil
import sys
from pathlib import Path


def byte_characters():
    """The characters that stand for the bytes 0 to 255 in byte-level tokenizers."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = [byte for byte in range(256) if byte not in shown]
    return [chr(byte) if byte in shown else chr(256 + moved.index(byte)) for byte in range(256)]


def random_tokens(count):
    numbers = random.Random(1)
    tokens = byte_characters()
    known, merges = set(tokens), []
    letters, printable, others = list(map(chr, [*range(65, 91), *range(97, 123)])), tokens[33:127], list(tokens)
    while len(tokens) < count:
        source = numbers.choices((letters, printable, others), (80, 15, 5))[0]
        pair = tokens[32] if numbers.random() < 0.3 else numbers.choice(source), numbers.choice(source)
        joined = "".join(pair)
        if len(joined) > 12 or joined in known:
            continue
        known.add(joined), merges.append(list(pair)), tokens.append(joined)
        if pair[0] != tokens[32]:
            source.append(joined)
    return tokens, merges


def main():
    spec, directory = Path(sys.argv[1]), Path(sys.argv[2])
    tokens, merges = random_tokens(json.loads(spec.read_text())["vocab_size"])
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copy(spec, directory / "spec.json")
    bytes_only = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges}
    tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": bytes_only,
                 "post_processor": None, "decoder": bytes_only, "model": model}
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer))


main()
