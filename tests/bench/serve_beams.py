#!/usr/bin/env python3
"""Tokens per second of beam searches that `smelt serve` makes for users with one request at a time.

Usage: serve_beams.py [--smelt build/smelt] [--users N] [--beams N] [--source N] [--new N] [--vocabulary N] [--searches N]
                      [--warm SECONDS] [--seconds SECONDS] [--processes N] MODEL [options of serve]

Each user sends the next request when the reply to the last one has come. Sources are random token ids. Prints a JSON line: the tokens of
the best sequences per second, the batch's steps and their mean time, and the part of the tokens whose beams the plan has chosen. If MODEL is
a spec, the server gets it with a generation_config.json that has the number of beams, so that sizes of runs are prepared. The server has slots
for `--searches` searches, by default one per user; with fewer, the requests of the other users wait.
"""
import argparse
import concurrent.futures
import http.client
import json
import multiprocessing
import pathlib
import random
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request


def search(url, seed, own, until):
    """Sends requests of one user. Returns the time of each reply and the number of its tokens."""
    words, replies = random.Random(seed), []
    connection = http.client.HTTPConnection(urllib.parse.urlparse(url).netloc, timeout=600)
    while time.monotonic() < until:
        body = {"prompt": [words.randrange(own.vocabulary) for _ in range(own.source)], "max_tokens": own.new, "temperature": 0,
                "use_beam_search": True, "beam_width": own.beams}
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        text = reply.read()
        if reply.status != 200:
            raise SystemExit(f"status {reply.status}: {text.decode()}")
        replies.append((time.monotonic(), json.loads(text)["usage"]["completion_tokens"]))
    return replies


def search_together(url, seeds, own, until):
    """Sends requests of some users, each in a thread of this process."""
    with concurrent.futures.ThreadPoolExecutor(len(seeds)) as pool:
        return [reply for replies in pool.map(lambda seed: search(url, seed, own, until), seeds) for reply in replies]


def counts(url):
    with urllib.request.urlopen(url + "/metrics") as reply:
        lines = [line.split() for line in reply.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


def measure(url, own):
    begin = time.monotonic() + own.warm
    users = [range(first, own.users, own.processes) for first in range(min(own.processes, own.users))]
    with concurrent.futures.ProcessPoolExecutor(len(users), multiprocessing.get_context("fork")) as pool:
        clients = [pool.submit(search_together, url, list(seeds), own, begin + own.seconds) for seeds in users]
        time.sleep(own.warm)
        before = counts(url)
        time.sleep(own.seconds)
        after = counts(url)
        replies = [reply for client in clients for reply in client.result()]
    change = {name: after[f"smelt_{name}_total"] - before[f"smelt_{name}_total"] for name in ("steps", "new_tokens", "plan_tokens")}
    tokens = sum(tokens for end, tokens in replies if begin <= end < begin + own.seconds)
    return {"users": own.users, "beams": own.beams, "source": own.source, "new": own.new,
            "tokens_per_s": round(tokens / own.seconds, 1), "steps": int(change["steps"]),
            "step_ms": round(1e3 * own.seconds / max(1, change["steps"]), 3),
            "by_plan": round(change["plan_tokens"] / max(1, change["new_tokens"]), 3)}


def model_with_beams(model, beams, directory):
    """Returns a model directory with the spec and the number of beams; MODEL itself if it is a directory."""
    if not model.endswith(".json"):
        return model
    directory = pathlib.Path(directory)
    (directory / "spec.json").write_text(pathlib.Path(model).read_text())
    (directory / "generation_config.json").write_text(json.dumps({"num_beams": beams}))
    return str(directory)


def serve_and_measure(own, options, model):
    slots = (own.searches or own.users) * own.beams
    command = [own.smelt, "serve", model, "--port", "0", "--slots", str(slots), *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        print(json.dumps(measure(server.stdout.readline().split()[-1], own)))
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default="build/smelt")
    for name, default in (("users", 64), ("beams", 4), ("source", 32), ("new", 64), ("vocabulary", 32000), ("processes", 4),
                          ("searches", 0)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--warm", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("model")
    own, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as directory:
        serve_and_measure(own, options, model_with_beams(own.model, own.beams, directory))


main()
