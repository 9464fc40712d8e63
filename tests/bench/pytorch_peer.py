"""Training steps of a GPT-2 in PyTorch on the CPU, as `smelt bench` measures them: fp32, AdamW, dropout.

Usage: python3 pytorch_peer.py --layers N --width N --heads N --vocabulary N --length N --batch N
                               [--dropout P] [--threads N] [--steps N] [--warm-up N] [--compile]
Prints one JSON line with the names of `smelt bench --json`.
"""
import argparse
import json
import resource
import time

import torch
from torch import nn
from torch.nn import functional


def resident_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        split = lambda part: part.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)
        query, key, value = map(split, self.inputs(x).split(width, dim=2))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True, dropout_p=self.dropout)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads, dropout), nn.Dropout(dropout))
        self.inner = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"),
                                   nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.inner(x)


class LanguageModel(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.tokens = nn.Embedding(o.vocabulary, o.width)
        self.positions = nn.Embedding(o.length, o.width)
        self.start = nn.Dropout(o.dropout)
        self.layers = nn.Sequential(*(Layer(o.width, o.heads, o.dropout) for _ in range(o.layers)), nn.LayerNorm(o.width))

    def forward(self, ids, labels):
        x = self.start(self.tokens(ids) + self.positions.weight[: ids.shape[1]])
        logits = functional.linear(self.layers(x), self.tokens.weight)
        return functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


def main():
    parser = argparse.ArgumentParser()
    for name in ("layers", "width", "heads", "vocabulary", "length", "batch"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    o = parser.parse_args()
    if o.threads:
        torch.set_num_threads(o.threads)
    # PyTorch's initial embeddings are not scaled down; with a large vocabulary most probabilities, and so gradients, are
    # then denormal, which makes a step several times as slow. That is no work a compiler could save: flush them.
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    imported = resident_mib()
    model = LanguageModel(o).train()
    loss_of = torch.compile(model) if o.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    ids, labels = (torch.randint(o.vocabulary, (o.batch, o.length)) for _ in range(2))
    seconds = []
    for _ in range(o.warm_up + o.steps):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss_of(ids, labels).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    timed = sorted(seconds[o.warm_up:])
    median = timed[len(timed) // 2]
    print(json.dumps(dict(torch=torch.__version__, compiled=o.compile, threads=torch.get_num_threads(),
                          parameters=sum(p.numel() for p in model.parameters()), seconds=round(median, 5),
                          spread=round((timed[-1] - timed[0]) / median, 3), tokens_per_s=round(o.batch * o.length / median),
                          peak_mib=resident_mib(), imported_mib=imported)))


if __name__ == "__main__":
    main()
