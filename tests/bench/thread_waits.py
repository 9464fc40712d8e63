#!/usr/bin/env python3
"""What it costs that threads wait for work by asking for it, and by sleeping: training, generation and serving on an
idle machine and beside processes that are always busy.

Usage: thread_waits.py [--smelt build/smelt] [--rounds N] [--cores N] [--busy N ...] [MODEL]

Each way of waiting runs once a round, in turns; medians of the seconds of whole commands. Ways are values of
GOMP_SPINCOUNT, `default` (the choice of OpenMP) and `smelt` (that of the command line).
"""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

WAYS = ["default", "passive", "1000", "10000", "100000", "smelt"]
HERE = pathlib.Path(__file__).parent


def environment(way):
    """Each way but `smelt` says so itself, and then the command line leaves it as it is."""
    variables = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    said = {"default": {"GOMP_SPINCOUNT": "300000"}, "passive": {"OMP_WAIT_POLICY": "passive"}, "smelt": {}}
    return variables | said.get(way, {"GOMP_SPINCOUNT": way})


def seconds_of(command, way):
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment(way), capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-500:].decode(errors='replace')}")
    return time.perf_counter() - begin


def served_seconds(command, way):
    done = subprocess.run(command, env=environment(way), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-500:]}")
    return json.loads(done.stdout)["seconds"]


def works(own, text):
    """What is measured: how, and with which command."""
    serving = [sys.executable, str(HERE / "serve_bench.py"), "--smelt", own.smelt, "--vocabulary", "250", "--requests", "8", "--new", "100"]
    return {
        "training": (seconds_of, [own.smelt, "train", own.model, "--data", text, "--steps", str(own.steps), "--quiet"]),
        "generation": (seconds_of, [own.smelt, "generate", own.model, "--from-scratch", "--max-new-tokens", "120", "--prompt",
                                    *map(chr, range(65, 65 + own.prompts))]),
        "serving": (served_seconds, [*serving, own.model, "--from-scratch"]),
    }


@contextlib.contextmanager
def busy(processes):
    """Processes that take all the time that they are given."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def measure(own, text, others):
    for name, (seconds, command) in works(own, text).items():
        found = {way: [] for way in own.ways}
        with busy(others):
            for _ in range(own.rounds):
                for way in own.ways:
                    found[way].append(seconds(command, way))
        cells = " | ".join(f"{statistics.median(found[way]):.2f}" for way in own.ways)
        print(f"| {name} | {others} | {cells} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default="build/smelt")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=0, help="the first N of this machine's; 0: all")
    parser.add_argument("--busy", type=int, nargs="*", default=[0, 1], help="other processes")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--prompts", type=int, default=50, help="that are continued by 120 tokens")
    parser.add_argument("--ways", nargs="*", default=WAYS)
    parser.add_argument("model", nargs="?", default=str(HERE.parent.parent / "examples/gpt2-small-bytes"))
    own = parser.parse_args()
    if own.cores:
        os.sched_setaffinity(0, set(list(os.sched_getaffinity(0))[: own.cores]))
    print("| | busy processes | " + " | ".join(own.ways) + " |\n|---|---:|" + "---:|" * len(own.ways))
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "text.txt"
        text.write_bytes(bytes(range(32, 127)) * 2000)
        for others in own.busy:
            measure(own, str(text), others)


main()
