#!/usr/bin/env python3
"""Accuracy of recall over caches of each type: trains a small Llama on lists of keys and values, then asks for one.

Usage: cache_recall.py SMELT [--steps N] [--questions N] [--precision P] [--directory DIR]
A text is "eNgId9...|q": twelve pairs of a letter and a value, and a letter; the answer is that letter's value.
"""
import argparse
import json
import pathlib
import random
import string
import subprocess
import tempfile

PAIRS = 12
VALUES = string.ascii_uppercase + string.digits
TYPES = ("float", "fp8", "int8")
MODEL = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 128,
         "intermediate_size": 256, "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 2,
         "max_position_embeddings": 128, "vocab_size": 256, "tokenizer": "bytes", "tie_word_embeddings": True,
         "bos_token_id": None, "eos_token_id": None, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
         "initializer_range": 0.02}
TRAINING = {"batch": 32, "length": 100, "lr": 0.003, "min_lr": 0.0003, "warmup": 100, "schedule": "cosine", "beta2": 0.98,
            "weight_decay": 0.0, "eval_every": 250, "eval_batches": 4}


def pairs(rng):
    return {key: rng.choice(VALUES) for key in rng.sample(string.ascii_lowercase, PAIRS)}


def joined(values, keys):
    return "".join(key + values[key] for key in keys)


def lesson(rng):
    values = pairs(rng)
    return f"{joined(values, values)}|{joined(values, rng.sample(list(values), PAIRS))}\n"


def questions(rng, count):
    for _ in range(count):
        values = pairs(rng)
        key = rng.choice(list(values))
        yield f"{joined(values, values)}|{key}", values[key]


def train(smelt, directory, steps, rng):
    (directory / "model").mkdir(exist_ok=True)
    (directory / "model/config.json").write_text(json.dumps(MODEL))
    (directory / "train.json").write_text(json.dumps({**TRAINING, "steps": steps}))
    (directory / "lessons.txt").write_text("".join(lesson(rng) for _ in range(40000)))
    subprocess.run([smelt, "train", "model", "--config", "train.json", "--run-dir", "run", "--data", "lessons.txt"],
                   cwd=directory, check=True)


def answers(smelt, directory, cache_type, precision):
    command = [smelt, "generate", "run/model", "--prompts", "questions.txt", "--max-new-tokens", "1", "--json",
               f"--cache-type={cache_type}", f"--precision={precision}"]
    lines = subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line)["text"][-1:] for line in lines if line.startswith("{")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("smelt", type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--directory", type=pathlib.Path, help="of an earlier run, whose model is used again")
    options = parser.parse_args()
    directory = options.directory or pathlib.Path(tempfile.mkdtemp())
    rng = random.Random(1)
    if not (directory / "run/model").exists():
        train(options.smelt, directory, options.steps, rng)
    asked = list(questions(random.Random(2), options.questions))
    (directory / "questions.txt").write_text("".join(f"{text}\n" for text, _ in asked))
    for cache_type in TYPES:
        found = answers(options.smelt, directory, cache_type, options.precision)
        right = sum(answer == given for answer, (_, given) in zip(found, asked, strict=True))
        print(f"{cache_type:6} {right} of {len(asked)} right")


if __name__ == "__main__":
    main()
