#!/usr/bin/env python3
"""Random requests to `smelt serve` for some minutes, and the server's resident memory meanwhile.

Usage: serve_soak.py [--smelt build/smelt] [--seconds N] [--clients N] [--pause S] [--every S] MODEL [options of serve]

A sixth of the requests are closed in mid-stream and a sixth are bad. Prints a JSON line every `--every` seconds,
and one at the end with the server's exit status.
"""
import argparse
import http.client
import json
import random
import subprocess
import threading
import time


class Counts:
    def __init__(self):
        self.lock, self.done, self.closed, self.bad, self.unexpected = threading.Lock(), 0, 0, 0, []

    def add(self, kind, fault=None):
        with self.lock:
            setattr(self, kind, getattr(self, kind) + 1)
            if fault:
                self.unexpected.append(fault)


def body_of(draw, vocabulary, longest):
    prompt = [draw.randrange(2, vocabulary) for _ in range(draw.randint(1, longest))]
    return {"prompt": prompt, "max_tokens": draw.randint(1, longest), "temperature": draw.choice([0, 1]),
            "n": draw.choice([1, 1, 1, 2]), "stream": draw.random() < 0.5}


def post(port, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    return connection, connection.getresponse()


def one_request(port, draw, counts, own):
    kind = draw.randrange(6)
    body = body_of(draw, own.vocabulary, own.longest)
    if kind == 0:
        name = draw.choice(["n", "max_tokens", "stop"])
        body[name] = draw.choice([-1, {}] if name == "stop" else [-1, "x", {}])
    if kind == 1:
        body["stream"] = True
    connection, reply = post(port, body)
    if kind == 1:
        reply.read(draw.randrange(1, 400))
        connection.close()
        return counts.add("closed")
    reply.read()
    connection.close()
    expected = {400, 422} if kind == 0 else {200, 503}
    counts.add("bad" if kind == 0 else "done", None if reply.status in expected else (reply.status, body))


def client(port, seed, until, counts, own):
    draw = random.Random(seed)
    while time.monotonic() < until:
        one_request(port, draw, counts, own)
        time.sleep(draw.random() * 2 * own.pause)


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        line = next(each for each in status if each.startswith("VmRSS:"))
    return round(int(line.split()[1]) / 1024, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default="build/smelt")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--every", type=float, default=30)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--pause", type=float, default=0, help="seconds of a client between requests, on average")
    parser.add_argument("--vocabulary", type=int, default=100)
    parser.add_argument("--longest", type=int, default=16, help="tokens of a prompt, and new ones")
    parser.add_argument("model")
    own, options = parser.parse_known_args()
    server = subprocess.Popen([own.smelt, "serve", own.model, "--port", "0", *options], stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline().split()[-1].rsplit(":", 1)[1].strip("/"))
    counts, begin = Counts(), time.monotonic()
    threads = [threading.Thread(target=client, args=(port, seed, begin + own.seconds, counts, own))
               for seed in range(own.clients)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(own.every, max(0.1, begin + own.seconds - time.monotonic())))
        print(json.dumps({"seconds": round(time.monotonic() - begin), "resident_mib": resident_mib(server.pid),
                          "requests": counts.done + counts.closed + counts.bad}), flush=True)
    server.terminate()
    print(json.dumps({"exit": server.wait(), "done": counts.done, "closed": counts.closed, "bad": counts.bad,
                      "unexpected": counts.unexpected[:5]}))


main()
