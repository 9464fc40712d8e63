#!/usr/bin/env python3
"""An encoder of BERT-base's sizes in int8: Smelt by turns with CTranslate2. Needs ctranslate2, torch and transformers.

Usage: int8_encoder_ctranslate2.py SMELT [--batch 8] [--length 128] [--rounds 5] [--threads 2]

Weights are random. CTranslate2 quantises weights by rows when it converts them, and activations by rows while it runs."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import ctranslate2
import numpy
import transformers
from ctranslate2.converters import transformers as converters

SPEC = pathlib.Path(__file__).resolve().parents[2] / "examples" / "workloads" / "bert-base.json"


def converted(directory):
    config = transformers.BertConfig()
    config.position_embedding_type = "absolute"  # which newer configurations leave out
    loader = converters.BertLoader()
    spec = loader.get_model_spec(transformers.BertModel(config))
    loader.set_vocabulary(spec, ["[UNK]"] + [f"t{i}" for i in range(config.vocab_size - 1)])
    spec.config.unk_token, spec.config.layer_norm_epsilon = "[UNK]", config.layer_norm_eps
    spec.validate()
    spec.optimize(quantization="int8")
    spec.save(directory)
    return directory


def smelt_milliseconds(options, qat):
    command = [options.smelt, "bench", str(SPEC), "--infer", "--max", f"B={options.batch},T={options.length}", "--batch",
               str(options.batch), "--length", str(options.length), "--qat", qat, "--steps", "5", "--warm-up", "2",
               "--threads", str(options.threads), "--json"]
    return 1000 * json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("smelt")
    for name, value in (("batch", 8), ("length", 128), ("rounds", 5), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(variable, None)
    with tempfile.TemporaryDirectory() as directory:
        peer = ctranslate2.Encoder(converted(directory), device="cpu", compute_type="int8", inter_threads=1,
                                   intra_threads=options.threads)
        ids = numpy.random.default_rng(0).integers(1, 30000, (options.batch, options.length)).tolist()

        def run():
            begin = time.perf_counter()
            numpy.array(peer.forward_batch(ids).last_hidden_state)
            return 1000 * (time.perf_counter() - begin)

        run(), run()
        times = {"Smelt fp32": [], "Smelt int8": [], "CTranslate2 int8": []}
        for _ in range(options.rounds):
            times["Smelt fp32"].append(smelt_milliseconds(options, "none"))
            times["Smelt int8"].append(smelt_milliseconds(options, "int8"))
            times["CTranslate2 int8"].append(statistics.median(run() for _ in range(5)))
    for name, values in times.items():
        print(f"{name}: {statistics.median(values):.1f} ms ({min(values):.1f} to {max(values):.1f})")


if __name__ == "__main__":
    main()
