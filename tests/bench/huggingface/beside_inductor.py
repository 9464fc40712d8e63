#!/usr/bin/env python3
"""Models of Hugging Face on a GPU: Smelt beside PyTorch's eager mode and torch.compile with CUDA graphs, in bf16 inference
or in training (f32 weights, bf16 by autocast in PyTorch, AdamW on both sides).

    PYTHONPATH=build/python python3 tests/bench/huggingface/beside_inductor.py infer -o results.jsonl [NAME...]
    ... infer --dry --target sm_90 --layers 2      # without a GPU: what compiles

Each model is a process. Some are compiled at the same time (--together); then one after the other is measured alone. A
line is appended to the file for each model: milliseconds of each engine, the least of the rounds' medians, which the
engines take in turns; in inference the relative error of the outputs (root mean square) against eager in float32, in training
the losses of the first and of the last step; or the reason why there is none. Models of the file are not repeated."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve()
ROUNDS, LEAST_SECONDS = 4, 0.1


# ---- the process of one model


def worker(options):
    """Prepares, says READY, waits for a line, measures, and prints the result as JSON."""
    found = {"model": options.model, "mode": options.mode, "autotune": options.autotune}
    try:
        prepared = prepare(options, found)
        print("READY", flush=True)
        sys.stdin.readline()
        found["ms"] = timed(prepared)
    except Exception as error:
        found["failed"] = f"{type(error).__name__}: {error}"[:2000]
        traceback.print_exc()
    print("RESULT " + json.dumps(found), flush=True)


def prepare(options, found):
    import torch

    import models

    torch.set_float32_matmul_precision("high")
    model = models.make(models.MODELS[options.model], "cpu" if options.dry else "cuda", options.layers)
    inputs = models.inputs_of(options.model, model.config, options.mode == "train", options.batch)
    found["parameters"] = sum(p.numel() for p in model.parameters())
    return (inference if options.mode == "infer" else training)(options, found, model, inputs)


def inference(options, found, model, inputs):
    import torch

    model.eval()
    reference = None if options.dry else first_output(model, on_gpu(inputs, torch.float32)).float()
    model.to(torch.bfloat16)
    plan = smelt_plan(options, found, model, inputs)
    if options.dry:
        return {}
    session, device = plan.session(), on_gpu(inputs, torch.bfloat16)
    calls = {"smelt": lambda: session.run(**inputs)}
    if not options.only_smelt:
        compiled = torch.compile(model, mode=inductor_mode(options), dynamic=False)
        calls["inductor"] = without_gradients(torch, compiled, device)
        if options.eager:
            calls["eager"] = without_gradients(torch, model, device)
    for engine, call in calls.items():
        found[f"{engine}_compile_s"] = warm(call)
        found[f"{engine}_error"] = relative(first_of(call()), reference)
    return calls


def without_gradients(torch, model, inputs):
    def call():
        torch.compiler.cudagraph_mark_step_begin()
        with torch.no_grad():
            return model(**inputs)

    return call


def training(options, found, model, inputs):
    import copy

    import torch

    model.train()
    plan = smelt_plan(options, found, model, inputs)
    if options.dry:
        return {}
    session = plan.session()
    calls = {"smelt": lambda: session.step(**inputs, lr=1e-5).loss}
    if not options.only_smelt:
        device = on_gpu(inputs, torch.float32)
        twin = copy.deepcopy(model) if options.eager else None
        compiled = torch.compile(model, mode=inductor_mode(options), dynamic=False)
        calls["inductor"] = stepper(torch, model, compiled, device)
        if twin is not None:
            calls["eager"] = stepper(torch, twin, twin, device)
    for engine, call in calls.items():
        first = float(call())
        found[f"{engine}_compile_s"] = warm(call)
        found[f"{engine}_losses"] = [first, float(call())]
    return calls


def stepper(torch, model, forward, inputs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)

    def step():
        torch.compiler.cudagraph_mark_step_begin()
        with torch.autocast("cuda", torch.bfloat16):
            loss = forward(**inputs).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def smelt_plan(options, found, model, inputs):
    import smelt
    import smelt.torch

    extra = {"target": options.target} if options.target else {}
    if options.mode == "train":
        extra.update(mode="train", loss="loss", optimizer=smelt.AdamW(lr=1e-5, weight_decay=0.01), entry=["train_step"])
    began = time.time()
    sample = {name: t.to(model.device) for name, t in inputs.items()}
    plan = smelt.torch.compile_module(model, sample, precision="bf16", **extra)
    found["plan_s"] = round(time.time() - began, 1)
    return plan


def inductor_mode(options):
    return "max-autotune" if options.autotune else "reduce-overhead"


def on_gpu(inputs, dtype):
    return {k: t.to("cuda", dtype) if t.is_floating_point() else t.cuda() for k, t in inputs.items()}


def first_output(model, inputs):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    with torch.no_grad():
        out = first_of(model(**inputs)).clone()
    torch.backends.cuda.matmul.allow_tf32 = True
    return out


def first_of(outputs):
    """The first output that is a tensor of more than one number."""
    values = outputs.values() if hasattr(outputs, "values") else outputs
    return next(v for v in values if hasattr(v, "numel") and v.numel() > 1)


def relative(found, reference):
    import torch

    with torch.no_grad():
        rows = zip(found.flatten(0, -2).split(1024), reference.flatten(0, -2).split(1024))
        sums = [((a.float() - b).square().sum().double(), b.square().sum().double()) for a, b in rows]
        return float((sum(a for a, _ in sums) / sum(b for _, b in sums)).sqrt())


def warm(call):
    import torch

    began = time.time()
    for _ in range(4):
        call()
    torch.cuda.synchronize()
    return round(time.time() - began, 1)


def timed(calls):
    """Medians of calls in a row, the engines in turns; of the rounds the least."""
    import torch

    def once(call, count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            call()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / count

    counts = {name: max(2, int(1e3 * LEAST_SECONDS / max(once(call, 2), 1e-3))) for name, call in calls.items()}
    found = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            found[name].append(once(call, counts[name]))
    return {name: [round(min(times), 4), round(statistics.median(times), 4)] for name, times in found.items()}


# ---- the driver


def start(options, name):
    command = [sys.executable, str(HERE), options.mode, "--worker", "--model", name]
    for flag in ("layers", "target", "batch"):
        if getattr(options, flag):
            command += [f"--{flag}", str(getattr(options, flag))]
    command += [f"--{flag.replace('_', '-')}" for flag in ("dry", "autotune", "only_smelt", "eager") if getattr(options, flag)]
    log = open(f"{options.logs}/{options.mode}-{name}.log", "w")
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)


def until(process, words):
    for line in process.stdout:
        if line.startswith(words):
            return line
    return ""


def measure(options, names):
    """Compiles these models at the same time, then measures one after the other."""
    processes = {name: start(options, name) for name in names}
    waiting = {name: until(process, ("READY", "RESULT")) for name, process in processes.items()}
    for name, process in processes.items():
        line = waiting[name]
        if line.startswith("READY"):
            process.stdin.write("\n")
            process.stdin.flush()
            line = until(process, "RESULT")
        process.wait()
        result = line.removeprefix("RESULT ") if line else json.dumps(
            {"model": name, "mode": options.mode, "failed": f"the process ended with {process.returncode}"}
        )
        with open(options.output, "a") as file:
            file.write(result.strip() + "\n")
        print(result.strip()[:400], flush=True)


def done(options):
    path = pathlib.Path(options.output)
    if not path.exists():
        return set()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["model"] for line in lines if line["mode"] == options.mode and line.get("autotune") == options.autotune}


def drive(options):
    import models

    began, names = time.time(), options.names or list(models.DYNAMO)
    left = [name for name in names if name not in done(options)]
    pathlib.Path(options.logs).mkdir(parents=True, exist_ok=True)
    while left and time.time() - began < options.seconds:
        measure(options, left[: options.together])
        left = left[options.together :]


def main():
    sys.path.insert(0, str(HERE.parent))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("infer", "train"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("-o", "--output", default="results.jsonl")
    parser.add_argument("--logs", default="/tmp/huggingface-logs")
    parser.add_argument("--together", type=int, default=1, help="models that are compiled at the same time")
    parser.add_argument("--seconds", type=float, default=1e9, help="no models are begun later")
    parser.add_argument("--autotune", action="store_true", help="torch.compile(mode='max-autotune')")
    parser.add_argument("--eager", action="store_true", help="eager mode, too")
    parser.add_argument("--only-smelt", action="store_true")
    parser.add_argument("--dry", action="store_true", help="compile plans alone, in the host's memory")
    parser.add_argument("--target")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    worker(options) if options.worker else drive(options)


if __name__ == "__main__":
    main()
