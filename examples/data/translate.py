#!/usr/bin/env python3
"""Translates the first messages of a file of pairs with a model trained on mo_pairs_to_safetensors.py's data.

Usage: translate.py SMELT MODEL PAIRS.tsv [COUNT]

A source is given to `smelt generate` as token ids; the ids that it writes are bytes again.
"""

import json
import subprocess
import sys

import byte_tokens


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    smelt, model, path = sys.argv[1:4]
    count = int(sys.argv[4]) if len(sys.argv) == 5 else 12
    pairs = [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8")][:count]
    command = [smelt, "generate", model, "--json", "--max-new-tokens", "40"]
    for source, _ in pairs:
        command += ["--ids", " ".join(map(str, byte_tokens.encode(source) + [byte_tokens.END]))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    for (source, target), line in zip(pairs, done.stdout.splitlines()):
        print(f"{source}\n  model      {byte_tokens.decode(json.loads(line)['new_ids'])}\n  catalogue  {target}")


if __name__ == "__main__":
    main()
