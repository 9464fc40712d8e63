"""Takes a module that nobody here wrote, says what of it Smelt has, compiles it and compares the outputs.

    python examples/any_module.py torch.nn:TransformerEncoderLayer --arguments "d_model=64, nhead=4, batch_first=True" \\
        --input src=4,16,64 --dynamic src=B,T

An input is NAME=SIZE,SIZE,...; NAME:int=... has whole numbers from 0 to 9. --dynamic names the dims that may change, in order
(a dash for one that may not).
"""

import argparse
import importlib
import sys
import time

import torch

import smelt
import smelt.torch


def made(name, arguments):
    """ "package.module:Class" with arguments as in a call."""
    module, attribute = name.split(":")
    torch.manual_seed(0)
    factory = getattr(importlib.import_module(module), attribute)
    return eval(f"factory({arguments})", {"factory": factory, "torch": torch}).eval()  # what the user has typed


def tensor(kind, sizes):
    return torch.randint(0, 10, sizes) if kind == "int" else torch.randn(sizes)


def parsed_inputs(words):
    """{name: (kind, sizes)}"""
    inputs = {}
    for word in words:
        name, sizes = word.split("=")
        name, _, kind = name.partition(":")
        inputs[name] = (kind, [int(size) for size in sizes.split(",")])
    return inputs


def parsed_dims(words):
    pairs = (word.split("=") for word in words)
    return {name: {i: d for i, d in enumerate(dims.split(",")) if d != "-"} for name, dims in pairs}


def doubled(inputs, dims):
    """Other sizes than those traced."""
    return {
        name: tensor(kind, [2 * size if i in dims.get(name, {}) else size for i, size in enumerate(sizes)])
        for name, (kind, sizes) in inputs.items()
    }


def tensors_in(output):
    if isinstance(output, torch.Tensor):
        return [output]
    values = output.values() if isinstance(output, dict) else output if isinstance(output, (tuple, list)) else []
    return [t for value in values for t in tensors_in(value)]


def compare(model, session, batch):
    with torch.no_grad():
        expected = tensors_in(model(**batch))
    for (name, found), tensor in zip(session.run(**batch).items(), expected):
        error = (found - tensor).norm() / tensor.norm().clamp_min(1e-30)
        print(f"{name}: {tuple(found.shape)}, {error:.1e} from PyTorch's")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", help="package.module:Class")
    parser.add_argument("--arguments", default="", help="as in a call of the class")
    parser.add_argument("--input", action="append", default=[], required=True)
    parser.add_argument("--dynamic", action="append", default=[])
    given = parser.parse_args()
    model, inputs, dims = made(given.module, given.arguments), parsed_inputs(given.input), parsed_dims(given.dynamic)
    sample = {name: tensor(kind, sizes) for name, (kind, sizes) in inputs.items()}
    bounds = {d: 4 * sample[name].shape[i] for name, axes in dims.items() for i, d in axes.items()}
    report = smelt.torch.coverage(model, sample, dynamic_shapes=dims, max=bounds)
    print(report)
    if not report:
        sys.exit(1)
    begin = time.perf_counter()
    plan = smelt.torch.compile_module(model, sample, dynamic_shapes=dims, max=bounds)
    print(f"compiled in {time.perf_counter() - begin:.1f} s: {plan}")
    compare(model, plan.session(), doubled(inputs, dims))


if __name__ == "__main__":
    try:
        main()
    except smelt.Error as problem:
        sys.exit(str(problem))
