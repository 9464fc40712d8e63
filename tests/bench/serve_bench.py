#!/usr/bin/env python3
"""Tokens a second of `smelt serve`: requests that come together, with prompts that begin alike or not.

Usage: serve_bench.py [--smelt build/smelt] [--requests N] [--prompt N] [--shared N] [--new N] MODEL [options of serve]

Prompts are random token ids of which the first `--shared` are everybody's. Prints one JSON line. Run it twice
against options of the server, such as `--cache-pages 0` (a slot for each request) and none (pages of 16 tokens).
"""
import argparse
import concurrent.futures
import json
import random
import subprocess
import time
import urllib.request


def complete(url, prompt, new):
    body = json.dumps({"prompt": prompt, "max_tokens": new, "temperature": 0, "logit_bias": {}}).encode()
    request = urllib.request.Request(url + "/v1/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as reply:
        return json.load(reply)["usage"]["completion_tokens"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default="build/smelt")
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--prompt", type=int, default=16)
    parser.add_argument("--shared", type=int, default=0)
    parser.add_argument("--new", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=50000)
    parser.add_argument("model")
    own, options = parser.parse_known_args()
    words = random.Random(1)
    beginning = [words.randrange(own.vocabulary) for _ in range(own.shared)]
    prompts = [beginning + [words.randrange(own.vocabulary) for _ in range(own.prompt - own.shared)]
               for _ in range(own.requests + 1)]
    command = [own.smelt, "serve", own.model, "--port", "0", "--slots", str(own.requests), *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().split()[-1]
        complete(url, prompts[-1], own.new)  # warm, and whatever is shared is there
        begin = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(own.requests) as pool:
            tokens = sum(pool.map(lambda prompt: complete(url, prompt, own.new), prompts[:-1]))
        seconds = time.perf_counter() - begin
        with urllib.request.urlopen(url + "/metrics") as reply:
            metrics = reply.read().decode().splitlines()
        found = next((int(m.split()[1]) for m in metrics if m.startswith("smelt_prefix_pages_found_total ")), 0)
        print(json.dumps({"requests": own.requests, "prompt": own.prompt, "shared": own.shared, "new_tokens": tokens,
                          "seconds": round(seconds, 3), "tokens_per_s": round(tokens / seconds, 1),
                          "pages_found": found}))
    finally:
        server.terminate()
        server.wait()


main()
