#!/usr/bin/env python3
"""Tokens a second of `smelt serve`: users with one request at a time, whose prompts begin alike or not.

Usage: serve_bench.py [--smelt build/smelt] [--requests N] [--users N] [--prompt N] [--shared N] [--new N] [--words N] [--temperature T]
                      [--schema S] MODEL [options of serve]

There are as many users as requests, unless --users says fewer. Prompts are random token ids of which the first `--shared` are everybody's.
With --words, new tokens are N of the vocabulary alone: one makes texts that repeat it. With --schema, texts satisfy a JSON schema, as
structured output does. Prints one JSON line. Run it twice
against options of the server, such as `--cache-pages 0` (a slot for each request) and none (pages of 16 tokens).
"""
import argparse
import concurrent.futures
import json
import random
import subprocess
import time
import urllib.request


def complete(url, prompt, own):
    words = {str(1 + 7 * i): 100 for i in range(own.words)}
    body = json.dumps({"prompt": prompt, "max_tokens": own.new, "temperature": own.temperature, "logit_bias": words,
                       **({"guided_json": json.loads(own.schema)} if own.schema else {})}).encode()
    request = urllib.request.Request(url + "/v1/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as reply:
        return json.load(reply)["usage"]["completion_tokens"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default="build/smelt")
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--users", type=int, default=0)
    parser.add_argument("--words", type=int, default=0)
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--schema", default="")
    parser.add_argument("--prompt", type=int, default=16)
    parser.add_argument("--shared", type=int, default=0)
    parser.add_argument("--new", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=50000)
    parser.add_argument("model")
    own, options = parser.parse_known_args()
    users = own.users or own.requests
    words = random.Random(1)
    beginning = [words.randrange(own.vocabulary) for _ in range(own.shared)]
    prompts = [beginning + [words.randrange(own.vocabulary) for _ in range(own.prompt - own.shared)]
               for _ in range(own.requests + 1)]
    command = [own.smelt, "serve", own.model, "--port", "0", "--slots", str(users), *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().split()[-1]
        complete(url, prompts[-1], own)  # warm, and whatever is shared is there
        begin = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(users) as pool:
            tokens = sum(pool.map(lambda prompt: complete(url, prompt, own), prompts[:-1]))
        seconds = time.perf_counter() - begin
        with urllib.request.urlopen(url + "/metrics") as reply:
            metrics = dict(line.split(" ", 1) for line in reply.read().decode().splitlines() if not line.startswith("#"))
        print(json.dumps({"requests": own.requests, "users": users, "prompt": own.prompt, "shared": own.shared, "new_tokens": tokens,
                          "seconds": round(seconds, 3), "tokens_per_s": round(tokens / seconds, 1),
                          **{name: int(metrics.get(f"smelt_{name}_total", 0))
                             for name in ("prefix_pages_found", "draft_tokens", "kept_draft_tokens")}}))
    finally:
        server.terminate()
        server.wait()


main()
