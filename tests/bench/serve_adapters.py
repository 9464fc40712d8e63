#!/usr/bin/env python3
"""Tokens per second of `smelt serve` by the adapters that its requests choose.

Usage: serve_adapters.py [--smelt build/smelt] [--spec FILE] [--adapters N] [--rank N] [--requests N] [--slots N] [--prompt N] [--new N]
                         [--rounds N] [options of serve]

The model is a spec of the family gpt2 or llama, with initial weights; by default a GPT-2 of 4 blocks. All adapters have the same random
matrices, in slots of their own. In each round all requests come together, and choose the model itself, one adapter, or each another one.
Prints a JSON line per round.
"""
import argparse
import concurrent.futures
import json
import pathlib
import random
import struct
import subprocess
import tempfile
import time
import urllib.request

GPT2 = {"family": "gpt2", "vocab_size": 8192, "hidden": 768, "max_positions": 256, "decoder": {"layers": 4, "heads": 12}}


def linears(spec):
    """The names in front of a layer's number, and by name the widths of a layer's linear maps."""
    hidden, decoder = spec["hidden"], spec["decoder"]
    ffn = decoder.get("ffn", 4 * hidden)
    if spec["family"] == "gpt2":
        return "transformer.h", {"attn.c_attn": (hidden, 3 * hidden), "attn.c_proj": (hidden, hidden),
                                 "mlp.c_fc": (hidden, ffn), "mlp.c_proj": (ffn, hidden)}
    keys = hidden // decoder["heads"] * decoder.get("kv_heads", decoder["heads"])
    attention = {"q": (hidden, hidden), "k": (hidden, keys), "v": (hidden, keys), "o": (hidden, hidden)}
    return "model.layers", {**{f"self_attn.{name}_proj": widths for name, widths in attention.items()},
                            "mlp.gate_proj": (hidden, ffn), "mlp.up_proj": (hidden, ffn), "mlp.down_proj": (ffn, hidden)}


def random_numbers(draws, count):
    """Bytes of f32 numbers; a thousand that are drawn are repeated."""
    some = b"".join(struct.pack("<f", draws.uniform(-0.01, 0.01)) for _ in range(1000))
    return (some * (count // 1000 + 1))[:4 * count]


def write_adapter(directory, spec, rank):
    """Writes a directory as PEFT does, with small random matrices."""
    directory.mkdir()
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": rank, "target_modules": "all-linear"}
    (directory / "adapter_config.json").write_text(json.dumps(config))
    header, data, draws = {}, bytearray(), random.Random(1)
    prefix, widths = linears(spec)
    for layer in range(spec["decoder"]["layers"]):
        for name, (inputs, outputs) in widths.items():
            for matrix, shape in (("A", [rank, inputs]), ("B", [outputs, rank])):
                begin = len(data)
                data += random_numbers(draws, shape[0] * shape[1])
                header[f"base_model.model.{prefix}.{layer}.{name}.lora_{matrix}.weight"] = {
                    "dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (directory / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def post(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as reply:
        return reply.read()


def tokens_per_second(url, models, own, new):
    def complete(number):
        prompt = [(7 * number + i) % 8192 for i in range(own.prompt)]
        post(url, "/v1/completions", {"model": models[number], "prompt": prompt, "max_tokens": new, "temperature": 0})

    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(len(models)) as pool:
        list(pool.map(complete, range(len(models))))
    return round(len(models) * new / (time.perf_counter() - begin), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default="build/smelt")
    parser.add_argument("--spec", type=pathlib.Path)
    parser.add_argument("--adapters", type=int, default=64)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--slots", type=int, default=32)
    parser.add_argument("--prompt", type=int, default=16)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    own, options = parser.parse_known_args()
    spec = json.loads(own.spec.read_text()) if own.spec else GPT2
    with tempfile.TemporaryDirectory() as folder:
        model, directory = pathlib.Path(folder) / "model.json", pathlib.Path(folder) / "adapter"
        model.write_text(json.dumps(spec))
        write_adapter(directory, spec, own.rank)
        command = [own.smelt, "serve", str(model), "--from-scratch", "--port", "0", "--slots", str(own.slots), "--queue", str(own.requests),
                   "--adapters", str(own.adapters), "--adapter-rank", str(own.rank), "--adapters-from", folder, *options]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().split()[-1]
            begin = time.perf_counter()
            for i in range(own.adapters):
                post(url, "/v1/load_lora_adapter", {"lora_name": f"a{i}", "lora_path": "adapter"})
            print(json.dumps({"seconds_per_load": round((time.perf_counter() - begin) / own.adapters, 4)}))
            tokens_per_second(url, ["a0"] * own.requests, own, 4)
            for _ in range(own.rounds):
                print(json.dumps({
                    "model": tokens_per_second(url, ["model.json"] * own.requests, own, own.new),
                    "one_adapter": tokens_per_second(url, ["a0"] * own.requests, own, own.new),
                    "mixed": tokens_per_second(url, [f"a{i % own.adapters}" for i in range(own.requests)], own, own.new)}), flush=True)
        finally:
            server.terminate()
            server.wait()


main()
