#!/usr/bin/env python3
"""The peer of linear_cross_entropy.ir: linear_cross_entropy_pytorch.py

Milliseconds of forward and backward, and GiB beyond inputs and gradients, of PyTorch in bf16 on a GPU: eager, torch.compile, and the three
matmuls alone in chunks of rows, which any implementation takes."""
import torch
import torch.nn.functional as F

ROWS, WIDTH, WORDS = 8192, 4096, 131072


def milliseconds(run, times=5):
    """The median of `times` runs."""
    for _ in range(2):
        run()
    taken = []
    for _ in range(times):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        taken.append(begin.elapsed_time(end))
    return sorted(taken)[times // 2]


def loss(x, w, labels):
    return F.cross_entropy(F.linear(x, w).float(), labels)


def step(loss_of, x, w, labels):
    x.grad = w.grad = None
    loss_of(x, w, labels).backward()


def products_alone(x, w, rows):
    """The logits of each chunk of rows, and the gradients of both factors."""
    options = dict(device="cuda", dtype=torch.bfloat16)
    logits, gradient = torch.empty(rows, WORDS, **options), (torch.randn(rows, WORDS, device="cuda") * 1e-4).bfloat16()
    dx, dw = torch.empty(rows, WIDTH, **options), torch.zeros(WORDS, WIDTH, **options)

    def run():
        with torch.no_grad():
            for begin in range(0, ROWS, rows):
                chunk = x[begin : begin + rows]
                torch.mm(chunk, w.t(), out=logits)
                torch.mm(gradient, w, out=dx)
                dw.addmm_(gradient.t(), chunk)

    return milliseconds(run)


def main():
    torch.manual_seed(0)
    x = torch.randn(ROWS, WIDTH, device="cuda").bfloat16().requires_grad_()
    w = (torch.randn(WORDS, WIDTH, device="cuda") * 0.02).bfloat16().requires_grad_()
    labels = torch.randint(0, WORDS, (ROWS,), device="cuda")
    gradients = (x.numel() + w.numel()) * x.element_size()
    for name, loss_of in (("eager", loss), ("torch.compile", torch.compile(loss))):
        x.grad = w.grad = None
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        taken = milliseconds(lambda: step(loss_of, x, w, labels))
        beyond = torch.cuda.max_memory_allocated() - before - gradients
        print(f"{name}: {taken:.1f} ms, {beyond / 2**30:.2f} GiB beyond inputs and gradients", flush=True)
    for rows in (2048, 4096):
        print(f"the matmuls alone, {rows} rows at a time: {products_alone(x, w, rows):.1f} ms", flush=True)


if __name__ == "__main__":
    main()
