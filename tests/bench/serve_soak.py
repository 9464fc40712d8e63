#!/usr/bin/env python3
"""Random requests to `smelt serve` for some minutes, and what the server holds meanwhile and at the end.

Usage: serve_soak.py [--smelt build/smelt] [--seconds N] [--clients N] [--pause S] [--every S] [--stop-every S] MODEL [options of serve]

Clients close streams, stop reading for seconds, or are killed with open streams; some requests are bad. With
--stop-every, the server is stopped (SIGSTOP) for a second from time to time. Prints a JSON line every `--every`
seconds, and one at the end: what is left of slots, requests and pages when no client is there, the growth of
the resident memory since a tenth of the time, and the exit status.
"""
import argparse
import http.client
import json
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.request

# A client of its own process, which is killed while it reads.
READER = "import sys, urllib.request as u\nfor _ in u.urlopen(u.Request(sys.argv[1], sys.stdin.buffer.read())): pass"
GAUGES = ("slots_used", "requests_running", "requests_waiting", "cache_pages_used")


class Counts:
    def __init__(self):
        self.lock, self.kinds, self.unexpected = threading.Lock(), {}, []

    def add(self, kind, fault=None):
        with self.lock:
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            if fault:
                self.unexpected.append(fault)

    def total(self):
        with self.lock:
            return sum(self.kinds.values())


class Load:
    """Requests of every kind to the server at a port."""

    def __init__(self, port, own):
        self.port, self.own, self.counts = port, own, Counts()
        self.kinds = [self.whole, self.whole, self.whole, self.close, self.close, self.bad, self.idle, self.texts]
        if own.beams:
            self.kinds.append(self.search)

    def body(self, draw):
        shared = [7] * draw.choice([0, self.own.longest // 2])
        prompt = shared + [draw.randrange(2, self.own.vocabulary) for _ in range(draw.randint(1, self.own.longest // 2))]
        return {"prompt": prompt, "max_tokens": draw.randint(1, self.own.longest), "temperature": draw.choice([0, 1]),
                "n": draw.choice([1, 1, 1, 2]), "stream": draw.random() < 0.5}

    def post(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        return connection, connection.getresponse()

    def expect(self, kind, body, statuses):
        connection, reply = self.post(body)
        reply.read()
        connection.close()
        self.counts.add(kind, None if reply.status in statuses else (kind, reply.status, body))

    def whole(self, draw):
        self.expect("done", self.body(draw), {200, 503})

    def search(self, draw):
        body = {**self.body(draw), "stream": False, "use_beam_search": True, "n": 1, "beam_width": draw.randint(2, 4)}
        del body["temperature"]
        self.expect("searched", body, {200, 503})

    def texts(self, draw):
        self.expect("logprobs", {**self.body(draw), "logprobs": 2, "logit_bias": {"5": 1}}, {200, 503})

    def bad(self, draw):
        name = draw.choice(["n", "max_tokens", "stop"])
        self.expect("bad", {**self.body(draw), name: {} if name == "stop" else draw.choice([-1, "x", {}])}, {400, 422})

    def close(self, draw):
        connection, reply = self.post({**self.body(draw), "stream": True})
        reply.read(draw.randrange(1, 400))
        connection.close()
        self.counts.add("closed")

    def idle(self, draw):
        connection, reply = self.post({**self.body(draw), "stream": True})
        time.sleep(draw.random() * self.own.idle)
        reply.read()
        connection.close()
        self.counts.add("read late")

    def kill(self, draw):
        reader = subprocess.Popen([sys.executable, "-c", READER, f"http://127.0.0.1:{self.port}/v1/completions"],
                                  stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        reader.stdin.write(json.dumps({**self.body(draw), "stream": True, "max_tokens": self.own.longest}).encode())
        reader.stdin.close()
        time.sleep(draw.random() / 2)
        reader.kill()
        reader.wait()
        self.counts.add("killed")

    def run(self, seed, until):
        draw = random.Random(seed)
        while time.monotonic() < until:
            draw.choice(self.kinds)(draw)
            time.sleep(draw.random() * 2 * self.own.pause)

    def run_kills(self, until):
        draw = random.Random(-1)
        while time.monotonic() < until:
            self.kill(draw)
            time.sleep(self.own.kill_every)

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as reply:
            lines = reply.read().decode().splitlines()
        return {each.split()[0].removeprefix("smelt_"): float(each.split()[1]) for each in lines if each[0] != "#"}


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        line = next(each for each in status if each.startswith("VmRSS:"))
    return round(int(line.split()[1]) / 1024, 2)


def stop_sometimes(server, every, until):
    while every and time.monotonic() + every < until:
        time.sleep(every)
        server.send_signal(signal.SIGSTOP)
        time.sleep(1)
        server.send_signal(signal.SIGCONT)


def left_over(load):
    """What the server still holds, once it has noticed that no client is there."""
    for _ in range(100):
        metrics = load.metrics()
        if not any(metrics[name] for name in GAUGES):
            break
        time.sleep(0.1)
    return {"left": {name: metrics[name] for name in GAUGES}, "ends": {name: value for name, value in metrics.items() if name.startswith("requests_total")}}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default="build/smelt")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--every", type=float, default=30)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--pause", type=float, default=0, help="seconds of a client between requests, on average")
    parser.add_argument("--idle", type=float, default=5, help="most seconds of a client that does not read")
    parser.add_argument("--kill-every", type=float, default=5, help="seconds between clients that are killed")
    parser.add_argument("--stop-every", type=float, default=0, help="seconds between stops of the server; 0: none")
    parser.add_argument("--beams", action="store_true", help="also beam searches of up to 4 beams")
    parser.add_argument("--vocabulary", type=int, default=100)
    parser.add_argument("--longest", type=int, default=16, help="tokens of a prompt, and new ones")
    parser.add_argument("model")
    return parser.parse_known_args()


def main():
    own, options = arguments()
    server = subprocess.Popen([own.smelt, "serve", own.model, "--port", "0", *options], stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline().split()[-1].rsplit(":", 1)[1].strip("/"))
    load, begin, memory = Load(port, own), time.monotonic(), []
    until = begin + own.seconds
    threads = [threading.Thread(target=load.run, args=(seed, until)) for seed in range(own.clients)]
    threads += [threading.Thread(target=load.run_kills, args=(until,)),
                threading.Thread(target=stop_sometimes, args=(server, own.stop_every, until))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(own.every, max(0.1, until - time.monotonic())))
        memory.append(resident_mib(server.pid))
        print(json.dumps({"seconds": round(time.monotonic() - begin), "resident_mib": memory[-1],
                          "requests": load.counts.total()}), flush=True)
    left = left_over(load)
    server.terminate()
    print(json.dumps({"exit": server.wait(), **load.counts.kinds, **left,
                      "grown_mib": round(memory[-1] - memory[len(memory) // 10], 2),
                      "unexpected": load.counts.unexpected[:5]}))


main()
