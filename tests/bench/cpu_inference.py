#!/usr/bin/env python3
"""Inference on a CPU of modules that smelt.torch imports, beside PyTorch eager and torch.compile: milliseconds of a call.

    PYTHONPATH=build/python python3 tests/bench/cpu_inference.py [--threads N] [--rounds N] [--calls N] [--real-time] [--json FILE] [WORKLOAD ...]

Modules of transformers have random weights. Each engine is a process of its own, and the processes take turns: a round is `calls` calls
of each, and the medians of all calls are printed. --real-time gives the processes real-time priority while they are timed, so that
other work of the machine waits (Linux, as root). The error is the largest difference from eager's first output, relative to its largest
element.
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

SEED, PRIORITY = 7, 20
SETTINGS = ("OPENBLAS_", "OMP_", "GOMP_", "MKL_", "KMP_")  # variables that engines do without, because each chooses for itself
PAUSE = 0.05  # seconds until the threads of the last engine sleep


def bert(config, models):
    return models.BertModel(config.BertConfig())


def vit(config, models):
    return models.ViTModel(config.ViTConfig())


def llama(config, models):
    sizes = dict(hidden_size=768, intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12, num_key_value_heads=12, vocab_size=32000)
    return models.LlamaForCausalLM(config.LlamaConfig(**sizes))


WORKLOADS = {  # a module, and the shape of its input
    "bert-b8-t128": (bert, (8, 128)),
    "bert-b1-t32": (bert, (1, 32)),
    "vit-b4": (vit, (4, 3, 224, 224)),
    "vit-b1": (vit, (1, 3, 224, 224)),
    "llama-b1-t128": (llama, (1, 128)),
    "llama-b4-t256": (llama, (4, 256)),
}
ENGINES = ["smelt", "eager", "inductor"]


# ---- one engine


def module_and_inputs(workload):
    import torch
    import transformers

    make, shape = WORKLOADS[workload]
    torch.manual_seed(SEED)
    module = make(transformers, transformers).eval()
    torch.manual_seed(SEED)
    if len(shape) == 4:
        return module, {"pixel_values": torch.randn(shape)}
    return module, {"input_ids": torch.randint(1000, shape)}


def main_output(outputs):
    return outputs[next(name for name in ("logits", "last_hidden_state") if name in outputs)]


def smelt_call(module, inputs, options):
    import smelt.torch

    session = smelt.torch.compile_module(module, inputs, precision=options.precision).session(threads=options.threads)
    return lambda: session.run(**inputs)


def pytorch_call(module, inputs, options):
    import torch

    torch.set_num_threads(options.threads)
    called = torch.compile(module) if options.engine == "inductor" else module
    extra = {"use_cache": False} if "input_ids" in inputs and hasattr(module.config, "use_cache") else {}

    def call():
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
            return called(**inputs, **extra)

    return call


def timed(call, count):
    seconds = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return seconds


def serve(options):
    """Answers each number of calls on the standard input by a line with their seconds, after a first line with those to be ready."""
    import numpy

    begin = time.perf_counter()
    module, inputs = module_and_inputs(options.workload[0])
    built = time.perf_counter()
    call = (smelt_call if options.engine == "smelt" else pytorch_call)(module, inputs, options)
    numpy.save(options.output, main_output(call()).detach().float().numpy())
    timed(call, 2)
    print(json.dumps({"model_s": built - begin, "ready_s": time.perf_counter() - built}), flush=True)
    for line in sys.stdin:
        print(json.dumps(timed(call, int(line))), flush=True)


# ---- all engines


class Engine:
    """A process that waits while others are timed."""

    def __init__(self, engine, workload, options, directory):
        self.name, self.output, self.seconds = engine, directory / f"{engine}.npy", []
        command = [sys.executable, __file__, "--engine", engine, "--output", str(self.output), "--threads", str(options.threads),
                   "--precision", options.precision, workload]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        environment["OMP_NUM_THREADS"] = str(options.threads)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)
        self.ready = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name}: the process ended with {self.process.wait()}")
        return json.loads(line)

    def run(self, calls):
        print(calls, file=self.process.stdin, flush=True)
        self.seconds += self.answer()

    def take_priority(self):
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            os.sched_setscheduler(int(task), os.SCHED_FIFO, os.sched_param(PRIORITY))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def take_turns(engines, options):
    if options.real_time:
        for engine in engines:
            engine.take_priority()
    for engine in engines:  # threads of a team may start with the first call
        engine.run(1)
        engine.seconds.clear()
    for _ in range(options.rounds):
        for engine in engines:
            engine.run(options.calls)
            time.sleep(PAUSE)


def error(found, expected):
    import numpy

    found, expected = numpy.load(found), numpy.load(expected)
    return float(numpy.abs(found - expected).max() / numpy.abs(expected).max())


def row(workload, engines, options):
    by_name = {engine.name: engine for engine in engines}
    result = {"workload": workload, "precision": options.precision, "threads": options.threads}
    for name, engine in by_name.items():
        milliseconds = [1e3 * s for s in engine.seconds]
        result[name] = {"ms": statistics.median(milliseconds), "least": min(milliseconds), "most": max(milliseconds),
                        "ready_s": engine.ready["ready_s"]}
        if "eager" in by_name:
            result[name]["error"] = error(engine.output, by_name["eager"].output)
    peers = [result[name]["ms"] for name in by_name if name != "smelt"]
    if peers and "smelt" in by_name:
        result["ratio"] = min(peers) / result["smelt"]["ms"]
    return result


def measure(workload, options):
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as ends:
        engines = []
        for name in options.engines:
            engines.append(Engine(name, workload, options, pathlib.Path(directory)))
            ends.callback(engines[-1].end)
        take_turns(engines, options)
        return row(workload, engines, options)


def shown(result):
    cells = [result["workload"]]
    for name in ENGINES:
        one = result.get(name)
        cells.append(f"{one['ms']:.2f} ({one['least']:.2f} to {one['most']:.2f})" if one else "")
    cells.append(f"{result['ratio']:.2f}" if "ratio" in result else "")
    cells.append(", ".join(f"{result[name]['error']:.1e}" for name in ENGINES if "error" in result.get(name, {})))
    cells.append(", ".join(f"{result[name]['ready_s']:.1f}" for name in ENGINES if name in result))
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("workload", nargs="*", help="default: all of " + ", ".join(WORKLOADS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=3, help="calls of an engine per round; default: 3")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32", help="bf16: PyTorch's under autocast; default: fp32")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--real-time", action="store_true")
    parser.add_argument("--json", type=argparse.FileType("a"), help="file to which a line per workload is added")
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)  # of one process
    parser.add_argument("--output", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        return serve(options)
    print("| workload | Smelt, ms | eager, ms | torch.compile, ms | the better one's, times Smelt's | errors | seconds until ready |")
    print("| --- | ---: | ---: | ---: | ---: | --- | --- |")
    for workload in options.workload or WORKLOADS:
        result = measure(workload, options)
        print(shown(result), flush=True)
        if options.json:
            print(json.dumps(result), file=options.json, flush=True)


if __name__ == "__main__":
    main()
