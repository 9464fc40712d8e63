#!/usr/bin/env python3
"""Lines "LABEL TAB TEXT" or "LABEL TAB TEXT TAB SECOND TEXT" as a data set, byte by byte.

Usage: labelled_text_to_safetensors.py IN.tsv OUT.safetensors [--longest N] [--masked SHARE]

  input_ids       I32 [N,T]  the text's bytes; of a pair: first text, a token between, second text (byte_tokens.py)
  attention_mask  U8  [N,T]  0 behind the text
  token_type_ids  U8  [N,T]  pairs only: 0 in the first text, 1 in the second
  labels          I32 [N]    the label's place in the sorted list of all labels, which is printed

With --masked 0.15 the labels are left aside for the task of a masked language model: that share of the tokens is
hidden, and labels I32 [N,T] holds them where they were, -100 everywhere else.
Texts are cut after --longest tokens. Records are shuffled with a fixed seed.
"""

import argparse
import random

import numpy as np

import byte_tokens
import safetensors_file


def read_lines(path):
    rows = []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        fields = line.rstrip("\n").split("\t")
        if len(fields) not in (2, 3):
            raise SystemExit(f"{path}, line {number}: {len(fields)} fields; expected a label, a tab and one or two texts")
        rows.append(fields)
    if len({len(row) for row in rows}) != 1:
        raise SystemExit(f"{path}: expected lines, all with one text or all with two")
    random.Random(0).shuffle(rows)
    return rows


def tokens_of(texts, longest):
    ids, types = [], []
    for i, text in enumerate(texts):
        part = ([byte_tokens.BETWEEN] if i else []) + byte_tokens.encode(text)
        ids += part
        types += [i] * len(part)
    return (ids or [byte_tokens.END])[:longest], (types or [0])[:longest]


def hide(ids, share, draw):
    """A copy with hidden tokens, and what they were."""
    hidden, labels = list(ids), [-100] * len(ids)
    for i, token in enumerate(ids):
        if draw.random() < share:
            hidden[i], labels[i] = byte_tokens.MASK, token
    return hidden, labels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input")
    parser.add_argument("out")
    parser.add_argument("--longest", type=int, default=128)
    parser.add_argument("--masked", type=float, default=0)
    options = parser.parse_args()
    rows = read_lines(options.input)
    encoded = [tokens_of(row[1:], options.longest) for row in rows]
    ids = [pair[0] for pair in encoded]
    tensors = {"attention_mask": safetensors_file.padded([[1] * len(row) for row in ids], 0, np.uint8)}
    if len(rows[0]) == 3:
        tensors["token_type_ids"] = safetensors_file.padded([pair[1] for pair in encoded], 0, np.uint8)
    if options.masked > 0:
        draw = random.Random(1)
        masked = [hide(row, options.masked, draw) for row in ids]
        ids = [pair[0] for pair in masked]
        tensors["labels"] = safetensors_file.padded([pair[1] for pair in masked], -100)
    else:
        names = sorted({row[0] for row in rows})
        tensors["labels"] = np.array([names.index(row[0]) for row in rows], np.int32)
        print("labels:", ", ".join(f"{i} = {name}" for i, name in enumerate(names)))
    tensors["input_ids"] = safetensors_file.padded(ids, byte_tokens.PAD)
    safetensors_file.write(options.out, tensors)
    print(f"{options.out}: {len(rows)} records")


if __name__ == "__main__":
    main()
