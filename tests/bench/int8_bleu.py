#!/usr/bin/env python3
"""BLEU and chrF of models that translate bytes: int8_bleu.py SMELT PAIRS.tsv MODEL... [needs sacrebleu]"""

import json
import pathlib
import subprocess
import sys

import sacrebleu

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"))
import byte_tokens

MOST = 400


def translations(smelt, model, sources):
    command = [smelt, "generate", model, "--json", "--max-new-tokens", "100"]
    for source in sources:
        command += ["--ids", " ".join(map(str, byte_tokens.encode(source) + [byte_tokens.END]))]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [byte_tokens.decode(json.loads(line)["new_ids"]) for line in lines]


def main():
    smelt, path, *models = sys.argv[1:]
    rows = [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8")]
    pairs = [row for row in rows if len(row) == 2][:MOST]
    for model in models:
        found = translations(smelt, model, [source for source, _ in pairs])
        references = [[target for _, target in pairs]]
        print(f"{model}: BLEU {sacrebleu.corpus_bleu(found, references).score:.2f}, "
              f"chrF {sacrebleu.corpus_chrf(found, references).score:.2f} ({len(pairs)} messages)")


if __name__ == "__main__":
    main()
