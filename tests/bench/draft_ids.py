#!/usr/bin/env python3
"""Compares what `smelt serve` answers with drafts and without.

Usage: draft_ids.py SMELT MODEL [--prompts N] [--new N] [--vocabulary N] [--users N] [--draft-tokens N] [options of serve]

MODEL is a directory or a spec (with --from-scratch). Of the prompts, random token ids, one in three may go on with any token, and the
others with few tokens, so that their texts repeat. Half of them are greedy; the others draw. On a CPU all ids must be equal. On a GPU
the runs of the two servers have other sizes, and so other last bits: a greedy text may take another way where two tokens have nearly the
same log-probability ("near ties", less than 0.001 apart), and a drawn one where its random number is near a limit. Prints the counts.
"""
import argparse
import concurrent.futures
import json
import random
import subprocess
import sys
import urllib.request

NEAR = 1e-3


def request_of(number, options):
    """A request whose number determines it."""
    draws = random.Random(number)
    body = {"prompt": [draws.randrange(options.vocabulary) for _ in range(draws.randrange(1, 40))], "seed": number,
            "max_tokens": options.new, "temperature": draws.choice([0, 0.8]), "logprobs": 0}
    if number % 3:
        words = draws.choice([1, 2, 4, 16])
        body["logit_bias"] = {str(draws.randrange(options.vocabulary)): 100 for _ in range(words)}
    return body


def answer(url, body):
    made = urllib.request.Request(url + "/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    choice = json.load(urllib.request.urlopen(made, timeout=300))["choices"][0]
    return choice["token_ids"], choice["logprobs"]["token_logprobs"]


def served(options, more):
    """The answers of a server with these options, and its counts."""
    command = [options.smelt, "serve", options.model, "--port", "0", "--queue", str(options.users), *options.rest, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().split()[-1].rstrip("/")
            with concurrent.futures.ThreadPoolExecutor(options.users) as users:
                answers = list(users.map(lambda i: answer(url, request_of(i, options)), range(options.prompts)))
            metrics = urllib.request.urlopen(url + "/metrics").read().decode()
            return answers, {line.split()[0]: float(line.split()[1]) for line in metrics.splitlines() if not line.startswith("#")}
        finally:
            server.terminate()


def kind_of(number, plain, drafted, options):
    """How the answer to a request differs."""
    if plain[0] == drafted[0]:
        return "equal"
    if request_of(number, options)["temperature"]:
        return "drawn otherwise"
    at = next((i for i, (a, b) in enumerate(zip(plain[0], drafted[0])) if a != b), None)
    near = at is not None and abs(plain[1][at] - drafted[1][at]) < NEAR
    return "near tie" if near else "DIFFERENT"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("smelt")
    parser.add_argument("model")
    parser.add_argument("--prompts", type=int, default=1000)
    parser.add_argument("--new", type=int, default=48)
    parser.add_argument("--vocabulary", type=int, default=256)
    parser.add_argument("--users", type=int, default=16)
    parser.add_argument("--draft-tokens", type=int, default=4)
    options, options.rest = parser.parse_known_args()
    plain, _ = served(options, [])
    drafted, counts = served(options, ["--draft-tokens", str(options.draft_tokens)])
    kinds = [kind_of(i, a, b, options) for i, (a, b) in enumerate(zip(plain, drafted))]
    result = {kind: kinds.count(kind) for kind in ("equal", "near tie", "drawn otherwise", "DIFFERENT")}
    for name in ("smelt_draft_tokens_total", "smelt_kept_draft_tokens_total"):
        result[name] = int(counts[name])
    print(json.dumps(result))
    sys.exit(result["DIFFERENT"] > 0)


if __name__ == "__main__":
    main()
