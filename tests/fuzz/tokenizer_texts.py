#!/usr/bin/env python3
"""Random texts with what Hugging Face's `tokenizers` (for Marian: `transformers`) makes of them, a JSON object a line.

Usage: tokenizer_texts.py DIRECTORY COUNT [SEED] [TEXT_FILE...] | build/tokenizer_differences DIRECTORY
"""
import json
import os
import random
import sys
import unicodedata

directory, count = sys.argv[1], int(sys.argv[2])
rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
LINES = [line.rstrip("\n") for f in sys.argv[4:] for line in open(f, encoding="utf-8", errors="ignore") if line.strip()]

ASSIGNED = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
SPACES = " \t\n\r\x0b\x0c\x85\u00a0\u1680\u2003\u200b\u2028\u2029\u202f\u3000\u180e"
MARKS = [c for c in ASSIGNED if unicodedata.combining(c)]
JOINERS = "\u200c\u200d\ufe0f\u0600\u0301\u0308\u0327\u093f\u094d\u1100\u1161\u11a8\uac00\U0001f1e9\U0001f3fd\U0001f468"
FULL = [c for c in ASSIGNED if unicodedata.normalize("NFKD", c) != c]
PIECES = ["'s", "'LL", "'ve", "'d ", "'ſ", " ", "  ", "\n", "\r\n", "\n\n ", "123", "3.14", "...", "!?", "_", "▁", "▁▁", " ▁", "Ġ",
          "<s>", "</s>", "<pad>", "<unk>", "<mask>", " <mask> ", "[MASK]", "[CLS]", "[UNK]", "<|endoftext|>", "<|eot_id|>",
          "<|im_start|>", "<extra_id_0>", "<extra_id_3>", "wholeword", "StripMe", "StripMe  ", ">>fr<<", ">>de<<", "<0x41>", "<0xE2>",
          "don't", "naïve", "I'll", "Hello", "world", "the", "ing", "tion", "ABC", "aBc", "İ", "ß", "ﬁ", "１２", "中文", "日本", "한국", "😀", "\ufffd", "\x00"]


def character():
    kind = rng.random()
    if kind < .35: return rng.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    if kind < .5: return rng.choice(SPACES[:4] if rng.random() < .7 else SPACES)
    if kind < .6: return chr(rng.randrange(0x20, 0x7F))
    if kind < .7: return chr(rng.randrange(0x80, 0x800))
    if kind < .78: return rng.choice(MARKS)
    if kind < .84: return rng.choice(JOINERS)
    if kind < .9: return rng.choice(FULL)
    if kind < .99: return rng.choice(ASSIGNED)
    c = rng.randrange(0x110000)
    return chr(c) if not 0xD800 <= c < 0xE000 else "?"


def text():
    kind = rng.random()
    if LINES and kind < .25: return rng.choice(LINES)[:400]
    if kind < .35: return "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 12)))
    if kind < .4: return rng.choice("aA1 .é中") * rng.randint(1, 120)
    return "".join(rng.choice(PIECES) if rng.random() < .15 else character() for _ in range(rng.randint(0, 40)))


def goldens_of_json(path):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(path)

    def golden(s):
        plain, whole = tokenizer.encode(s, add_special_tokens=False), tokenizer.encode(s)
        return dict(text=s, ids=plain.ids, ids_special=whole.ids, offsets=plain.offsets, decoded=tokenizer.decode(whole.ids),
                    decoded_all=tokenizer.decode(whole.ids, skip_special_tokens=False))
    return golden


def goldens_of_marian():
    from transformers import MarianTokenizer
    tokenizer = MarianTokenizer(*(os.path.join(directory, f) for f in ("source.spm", "target.spm", "vocab.json")))

    def golden(s):
        source, target = tokenizer(s).input_ids, tokenizer(text_target=s).input_ids
        return dict(text=s, ids=source, target_ids=target, decoded=tokenizer.decode(target, skip_special_tokens=True),
                    decoded_source=tokenizer.decode(source, skip_special_tokens=True))
    return golden


path = os.path.join(directory, "tokenizer.json")
golden = goldens_of_json(path) if os.path.exists(path) else goldens_of_marian()
for _ in range(count):
    print(json.dumps(golden(text())))
