#!/usr/bin/env python3
"""Times the graphs of tests/bench/attention in PyTorch: its flash and cuDNN kernels, and FlexAttention, as JSON lines.

    python3 tests/bench/attention_pytorch.py [gpt2 gpt2_dropout ...]        on a GPU

Measured as `smelt bench tests/bench/attention/*.ir` does: a CUDA graph is replayed, and the time of backward is that of
forward and backward together, less forward's. `tflops` counts the products of scores that are seen: two forward, five
backward.
"""

import json
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

#        batch, length, heads, key heads, width, causal, dropout
SHAPES = {
    "gpt2": (32, 1024, 12, 12, 64, True, 0.0),
    "gpt2_dropout": (32, 1024, 12, 12, 64, True, 0.1),
    "bert_large_dropout": (16, 512, 16, 16, 64, False, 0.1),
    "bert_base_dropout": (32, 128, 12, 12, 64, False, 0.1),
    "translation_dropout": (64, 64, 16, 16, 64, False, 0.1),
    "heads_2k": (4, 2048, 32, 32, 64, True, 0.0),
    "heads_4k": (4, 4096, 32, 32, 128, True, 0.0),
    "heads_8k": (2, 8192, 16, 16, 128, True, 0.0),
    "llama_8b": (4, 4096, 32, 8, 128, True, 0.0),
    "long": (1, 32768, 16, 16, 128, True, 0.0),
    "alibi": (4, 2048, 32, 32, 128, True, 0.0),
    "softcap_window": (2, 8192, 16, 8, 128, True, 0.0),
    "packed": (1, 16384, 16, 16, 64, True, 0.0),
}
# Bodies that only FlexAttention takes: what it does to a score, and which keys a query sees.
SCORES = {
    "alibi": lambda score, b, h, t, s: score + torch.exp2(-(h + 1) / 4) * (s - t),
    "softcap_window": lambda score, b, h, t, s: 50 * torch.tanh(score / 50),
}
SEEN = {
    "softcap_window": lambda b, h, t, s: (t >= s) & (t - s < 1024),
    "packed": lambda b, h, t, s: (t >= s) & (t // 512 == s // 512),
}
KERNELS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}


def seconds(work, runs=20):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    graph.replay()
    times = []
    for _ in range(5):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(runs):
            graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / runs)
    return sorted(times)[2]


def heads(*shape):
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16).transpose(1, 2).requires_grad_()


def attention(name, kernel):
    """The function of q, k and v that is timed."""
    _, length, query_heads, key_heads, _, causal, p = SHAPES[name]
    groups = query_heads != key_heads
    if kernel != "flex":
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=causal, enable_gqa=groups)
    seen = SEEN.get(name, (lambda b, h, t, s: t >= s) if causal else None)
    mask = torch.compile(create_block_mask)(seen, None, None, length, length, device="cuda") if seen else None
    torch._dynamo.reset()  # else a second shape is compiled for all shapes
    flex = torch.compile(flex_attention, dynamic=False)
    return lambda q, k, v: flex(q, k, v, score_mod=SCORES.get(name), block_mask=mask, enable_gqa=groups)


def kernels_for(name):
    """FlexAttention has no dropout, and the others no body."""
    if name in SCORES or name in SEEN:
        return ["flex"]
    return ["flash", "cudnn"] + ["flex"] * (SHAPES[name][-1] == 0)


def measure(name, kernel):
    batch, length, query_heads, key_heads, width, causal, _ = SHAPES[name]
    attend = attention(name, kernel)
    q = heads(batch, length, query_heads, width)
    k, v = (heads(batch, length, key_heads, width) for _ in range(2))
    given = torch.randn_like(q)

    def forward():
        with sdpa_kernel(KERNELS.get(kernel, SDPBackend.MATH)):
            return attend(q, k, v)

    one = seconds(forward)
    both = seconds(lambda: torch.autograd.grad(forward(), (q, k, v), given))
    flops = 2 * batch * query_heads * length * length * width * (0.5 if causal else 1)
    if name in SEEN:  # the products that are seen depend on the mask
        return {"graph": name, "kernel": kernel, "forward_us": round(one * 1e6, 1),
                "backward_us": round((both - one) * 1e6, 1)}
    return {"graph": name, "kernel": kernel, "forward_us": round(one * 1e6, 1), "backward_us": round((both - one) * 1e6, 1),
            "forward_tflops": round(2 * flops / one / 1e12), "backward_tflops": round(5 * flops / (both - one) / 1e12)}


for name in sys.argv[1:] or SHAPES:
    for kernel in kernels_for(name):
        try:
            print(json.dumps(measure(name, kernel)), flush=True)
        except Exception as error:
            print(json.dumps({"graph": name, "kernel": kernel, "error": str(error)[:200]}), flush=True)
