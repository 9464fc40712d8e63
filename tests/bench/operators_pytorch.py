#!/usr/bin/env python3
"""Times the operators of tests/bench/operators in PyTorch, eager and compiled, as JSON lines.

    python3 tests/bench/operators_pytorch.py -o pytorch.jsonl              on a GPU, at the sizes of the graphs
    python3 tests/bench/operators_pytorch.py --device cpu --rows 64        a trial on a CPU

operators_table.py sets its lines beside those of `smelt bench tests/bench/operators/*.ir --json`. Both sides are
measured alike: a CUDA graph is replayed until 20 ms are over, with one wait at the end, and the time of backward is
that of forward and backward together, less forward's. Here vectors are in the storage type too; their bytes do not count
beside those of the rows.
"""

import argparse
import json
import statistics
import sys
import time
import traceback

import torch
import torch.nn.functional as F

SECONDS_TOGETHER = 0.02
COPY_BYTES = 256 << 20


def normal(device, dtype, *shape, gradient=True):
    return torch.randn(shape, device=device, dtype=dtype).requires_grad_(gradient)


def size(*tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


# Each operator: its default rows, and what makes (function, inputs) for so many. The widths are those of the graphs.


def layer_norm(rows, device, dtype):
    x, w, b = (normal(device, dtype, *shape) for shape in ((rows, 1024), (1024,), (1024,)))
    return lambda x, w, b: F.layer_norm(x, (1024,), w, b), (x, w, b)


def softmax(rows, device, dtype):
    return lambda x: F.softmax(x, -1), (normal(device, dtype, rows, 512),)


def bias_gelu_dropout(rows, device, dtype):
    x, b = normal(device, dtype, rows, 4096), normal(device, dtype, 4096)
    return lambda x, b: F.dropout(F.gelu(x + b), 0.1, True), (x, b)


def bias_dropout_residual(rows, device, dtype):
    x, b, r = (normal(device, dtype, *shape) for shape in ((rows, 1024), (1024,), (rows, 1024)))
    return lambda x, b, r: F.dropout(x + b, 0.1, True) + r, (x, b, r)


def criterion(rows, device, dtype):
    """In float32, as under autocast."""
    x, t = normal(device, dtype, rows, 32000), torch.randint(0, 32000, (rows,), device=device)
    return lambda x, t: F.cross_entropy(x.float(), t, reduction="none", label_smoothing=0.1), (x, t)


OPERATORS = {
    "adamw": (131072, None),
    "bias_dropout_residual": (65536, bias_dropout_residual),
    "bias_gelu_dropout": (16384, bias_gelu_dropout),
    "criterion": (8192, criterion),
    "layer_norm": (65536, layer_norm),
    "softmax": (524288, softmax),
}


class Clock:
    """Seconds of one run of a function that launches work on a device."""

    def __init__(self, device, steps):
        self.cuda, self.steps = device == "cuda", steps

    def seconds(self, work):
        """The median, and whether a CUDA graph was replayed."""
        run, graph = self.captured(work)
        run()
        together = max(1, min(500, int(SECONDS_TOGETHER / self.once(run, 1))))
        return statistics.median(self.once(run, together) for _ in range(self.steps)), graph

    def captured(self, work):
        if not self.cuda:
            return work, False
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                work()
        except RuntimeError as error:
            print(f"not captured, launched one by one: {error}", file=sys.stderr)
            torch.cuda.synchronize()
            return work, False
        return graph.replay, True

    def once(self, run, together):
        if self.cuda:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(together):
                run()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) / 1e3 / together
        begin = time.perf_counter()
        for _ in range(together):
            run()
        return (time.perf_counter() - begin) / together


def copy_bytes_per_second(device, clock):
    source = torch.zeros(COPY_BYTES if device == "cuda" else COPY_BYTES // 8, dtype=torch.uint8, device=device)
    to = torch.empty_like(source)
    return 2 * source.numel() / clock.seconds(lambda: to.copy_(source))[0]


def time_operator(make, rows, variant, options, clock):
    """Forward, with the bytes of its inputs and its output, and backward."""
    function, inputs = make(rows, options.device, options.dtype)
    run = torch.compile(function, mode=options.mode) if variant == "compiled" else function
    floats = [x for x in inputs if x.requires_grad]
    given = torch.randn_like(function(*inputs)).detach()

    def both():
        return torch.autograd.grad(run(*inputs), floats, given)

    both()  # compiled here, not while a graph is captured
    forward, graph = clock.seconds(lambda: run(*inputs))
    together, both_graph = clock.seconds(both)
    yield {"entry": "forward", "seconds": forward, "bytes": size(*inputs, given), "graph": graph}
    yield {"entry": "backward", "seconds": together - forward, "graph": both_graph}


def time_adamw(rows, variant, options, clock):
    """float32 masters, moments and gradients: as many bytes as Smelt's with a bf16 gradient and a bf16 copy."""
    p = normal(options.device, torch.float32, rows, 1024)
    p.grad = torch.randn_like(p)
    kind = {"foreach": True} if variant == "compiled" else {"fused": True}
    cuda = options.device == "cuda"
    optimizer = torch.optim.AdamW([p], lr=1e-3, weight_decay=0.01, capturable=cuda, **kind)
    step = torch.compile(optimizer.step, mode=options.mode) if variant == "compiled" else optimizer.step
    for _ in range(3):
        step()
    seconds, graph = clock.seconds(step)
    yield {"entry": "update", "seconds": seconds, "bytes": 7 * size(p), "graph": graph}


def measure(name, variant, options, clock):
    torch._dynamo.reset()
    rows, make = OPERATORS[name]
    rows = options.rows or rows
    if make:
        yield from time_operator(make, rows, variant, options, clock)
    else:
        yield from time_adamw(rows, variant, options, clock)


def records(options):
    clock = Clock(options.device, options.steps)
    copy = copy_bytes_per_second(options.device, clock)
    for name in options.operators:
        for variant in options.variants:
            about = {"operator": name, "variant": variant, "torch": torch.__version__,
                     "precision": options.precision, "copy_bytes_per_s": round(copy)}
            try:
                for measured in measure(name, variant, options, clock):
                    yield {**about, **measured}
            except Exception as error:  # the others are measured all the same
                traceback.print_exc()
                yield {**about, "error": f"{type(error).__name__}: {error}"[:300]}
            if options.device == "cuda":
                torch.cuda.empty_cache()


def comma(choices):
    def parse(text):
        names = text.split(",")
        unknown = [name for name in names if name not in choices]
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are {', '.join(choices)}")
        return names

    return parse


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--precision", default="bf16", choices=["bf16", "fp16", "fp32"])
    parser.add_argument("--rows", type=int, help="of every operator; default: what its graph says")
    parser.add_argument("--operators", type=comma(OPERATORS), default=list(OPERATORS), help="a,b: these alone")
    parser.add_argument("--variants", type=comma(["eager", "compiled"]), default=["eager", "compiled"])
    parser.add_argument("--mode", default="max-autotune-no-cudagraphs", help="of torch.compile")
    parser.add_argument("--steps", type=int, default=6, help="times with a clock; the median counts")
    parser.add_argument("-o", "--output", help="file of JSON lines; default: standard output alone")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU; --device cpu --rows 64 makes a trial without")
    options.dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[options.precision]
    return options


def main():
    options = parse_options()
    torch.manual_seed(0)
    lines = []
    for record in records(options):
        lines.append(json.dumps(record))
        print(lines[-1], flush=True)
        if options.output:
            with open(options.output, "w") as file:
                file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
