#!/usr/bin/env python3
"""A mixture of experts of Hugging Face's through smelt.torch, in both of its implementations, beside PyTorch: the least
milliseconds that one thread works for a forward, for one token alone and for a step with AdamW, and the memory that Smelt
plans.

    PYTHONPATH=build/python python3 tests/bench/experts_pytorch.py --experts 8 --hidden 256 --intermediate 512 --tokens 512
"""

import argparse
import time

import torch
from torch import nn
from transformers import MixtralConfig
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

import smelt
import smelt.torch

SIZES = {"x": {0: "B", 1: "T"}, "y": {0: "B", 1: "T"}}


class Block(nn.Module):
    def __init__(self, options, implementation):
        super().__init__()
        torch.manual_seed(0)
        self.block = MixtralSparseMoeBlock(
            MixtralConfig(
                hidden_size=options.hidden,
                intermediate_size=options.intermediate,
                num_local_experts=options.experts,
                num_experts_per_tok=options.chosen,
                experts_implementation=implementation,
            )
        )
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.05)

    def forward(self, x, y):
        found = self.block(x)
        return {"found": found, "loss": nn.functional.mse_loss(found, y)}


class Forward:
    def __init__(self, module, batch, bounds):
        self.module, self.batch = module, batch
        self.plan = smelt.torch.compile_module(module, batch, dynamic_shapes=SIZES, max=bounds)
        self.session = self.plan.session(threads=1)

    def smelt(self):
        self.session.run(**self.batch)

    def pytorch(self):
        with torch.no_grad():
            self.module(**self.batch)


class Token(Forward):
    """One alone, under the bounds of all."""

    def __init__(self, module, batch, bounds):
        super().__init__(module, batch, bounds)
        self.batch = {name: tensor[:1, :1].contiguous() for name, tensor in batch.items()}


class Step:
    def __init__(self, module, batch, bounds):
        self.module, self.batch = module.train(), batch
        self.plan = smelt.torch.compile_module(
            module, batch, dynamic_shapes=SIZES, max=bounds, mode="train", optimizer=smelt.AdamW(), entry=["train_step"]
        )
        self.session = self.plan.session(threads=1)
        self.optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)

    def smelt(self):
        self.session.step(**self.batch, lr=1e-3)

    def pytorch(self):
        self.optimizer.zero_grad()
        self.module(**self.batch)["loss"].backward()
        self.optimizer.step()


def milliseconds(run, rounds):
    """The least, behind a first run."""
    times = []
    for _ in range(rounds + 1):
        start = time.process_time()
        run()
        times.append(1e3 * (time.process_time() - start))
    return min(times[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for name, default in (("experts", 8), ("chosen", 2), ("hidden", 256), ("intermediate", 512), ("tokens", 512)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    shape = (4, options.tokens // 4, options.hidden)
    batch, bounds = {"x": torch.randn(shape), "y": torch.randn(shape)}, {"B": 4, "T": options.tokens // 4}
    print(f"{'':22} {'Smelt':>9} {'PyTorch':>9}   planned memory")
    for kind in (Forward, Token, Step):
        for implementation in ("grouped_mm", "batched_mm"):
            work = kind(Block(options, implementation), batch, bounds)
            found, expected = (milliseconds(run, options.rounds) for run in (work.smelt, work.pytorch))
            planned = work.plan.memory()["total"] / 2**20
            name = f"{kind.__name__.lower()}, {implementation}"
            print(f"{name:22} {found:6.2f} ms {expected:6.2f} ms   {planned:.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
