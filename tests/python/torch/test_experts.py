"""Mixtures of experts whose tokens are sorted by expert, as those of Hugging Face are by default."""

import pytest
import sympy
import torch
from architectures import ARCHITECTURES
from conftest import relative
from torch import nn
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges
from transformers.integrations import moe  # noqa: F401  (registers its own product)

import smelt
import smelt.torch
from smelt.torch.backend import BEHIND_DIFFERENTIATION, smelt_backend
from smelt.torch.compile import compile_text, import_module
from smelt.torch.dims import Sizes

BOUNDS = {"B": 7, "T": 33}
SIZES = ((1, 1), (3, 1), (1, 31), (7, 33))


class Experts(nn.Module):
    """As in grouped_mm_experts_forward of transformers, of one product each. `liked` and `disliked` are experts that all
    tokens choose, or none."""

    def __init__(self, count=5, width=12, chosen=2, liked=(), disliked=(), product="grouped_mm"):
        super().__init__()
        torch.manual_seed(0)
        self.chosen, self.product = chosen, product
        self.router = nn.Linear(width, count)
        self.matrices = nn.Parameter(torch.randn(count, 2 * width, width) / width**0.5)
        with torch.no_grad():
            self.router.bias[list(liked)] += 100
            self.router.bias[list(disliked)] -= 100

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        weights, experts = self.router(rows).softmax(-1).topk(self.chosen, -1)
        experts, order = experts.reshape(-1).sort()
        counts = torch.histc(experts.float(), bins=len(self.matrices), min=0, max=len(self.matrices) - 1)
        y = self.multiplied(rows[order // self.chosen], counts.cumsum(0, dtype=torch.int32))
        y = y * weights.reshape(-1)[order, None]
        back = torch.empty_like(order)
        back[order] = torch.arange(order.shape[0])
        return y[back].view(-1, self.chosen, y.shape[-1]).sum(1).reshape(*x.shape[:2], -1)

    def multiplied(self, rows, ends):
        matrices = self.matrices.transpose(1, 2)
        if self.product == "grouped_mm":
            return torch._grouped_mm(rows, matrices, offs=ends)
        return torch.ops.transformers.grouped_mm_fallback(rows, matrices, offs=ends)


class Loss(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.experts = experts

    def forward(self, x, y):
        return {"loss": (self.experts(x) * y).sum()}


def dims(*names):
    return {name: {0: "B", 1: "T"} for name in names}


CASES = {
    "usual": {},
    "one expert": dict(count=1, chosen=1),
    "three without a token": dict(disliked=(0, 2, 4)),
    "all tokens to the last": dict(liked=(4,), chosen=1),
    "more experts than tokens": dict(count=40, chosen=3),
    "without PyTorch's product": dict(product="transformers"),
}


@pytest.mark.parametrize("case", CASES)
def test_outputs_and_gradients(case):
    module = Loss(Experts(**CASES[case]))
    sample = {"x": torch.randn(3, 11, 12), "y": torch.randn(3, 11, 24)}
    program = import_module(module, sample, dims("x", "y"), BOUNDS, True, "loss")
    passes = f"differentiate{{output=loss_sum}},{BEHIND_DIFFERENTIATION}"
    session = compile_text(program.text, mode="infer", pipeline=passes, no_plan_cache=True).session(from_scratch=True)
    session.load_state_dict({name: tensor.detach() for name, tensor in program.parameters.items()})
    for rows, length in SIZES:
        x, y = torch.randn(rows, length, 12), torch.randn(rows, length, 24)
        module.zero_grad()
        module(x, y)["loss"].backward()
        found = session.run("loss", x=x, y=y)
        expected = (module.experts(x) * y).sum().item()
        assert abs(float(found["loss_sum"]) - expected) <= 1e-5 * max(1, abs(expected)), (rows, length)
        for name, parameter in module.named_parameters():
            gradient = torch.from_dlpack(found[f"grad.{name}"])
            assert relative(gradient, parameter.grad) <= 1e-5 or gradient.norm() <= 1e-5, (name, rows, length)


def test_the_backend():
    module = Experts()
    compiled = torch.compile(module, backend=smelt_backend, dynamic=True, options={"max": BOUNDS})
    for rows, length in ((3, 11), (2, 31), (7, 33)):
        x = torch.randn(rows, length, 12)
        module.zero_grad()
        compiled(x).square().sum().backward()
        found = module.matrices.grad.clone()
        module.zero_grad()
        module(x).square().sum().backward()
        assert relative(found, module.matrices.grad) <= 1e-5, (rows, length)


def test_memory_follows_the_tokens_and_not_tokens_times_matrices():
    module, sample = Experts(count=8, width=64), {"x": torch.randn(2, 8, 64)}
    plan = smelt.torch.compile_module(
        module, sample, dynamic_shapes=dims("x"), max={"B": 4, "T": 256, "B*T": 512}, no_plan_cache=True
    )
    matrices = 4 * module.matrices.numel()
    each = 4 * 512 * 2 * (64 + 128)  # of the rows of all experts, in and out of the product
    assert plan.memory()["arena"] <= 5 * matrices + 4 * each


def test_the_most_that_a_size_can_be():
    b, t, n = sympy.symbols("s0 s1 s2", integer=True, positive=True)
    ranges = {b: ValueRanges(1, 32), t: ValueRanges(1, 512), n: ValueRanges(1, int_oo)}
    sizes = Sizes({b: "B", t: "T", n: "N"}, ranges, {"T*B": 4096})
    assert [sizes.ranges.most(sizes.of(size)) for size in (7, b, b * t, 2 * b * t + 3 * t - 4)] == [7, 32, 4096, 8192 + 1536 - 4]
    assert sizes.ranges.most(sizes.of(5 - b * t)) == 4
    assert all(sizes.ranges.most(sizes.of(size)) is None for size in (n, b * n))


class Ends(nn.Module):
    def forward(self, x, matrices, ends):
        return torch._grouped_mm(x, matrices, offs=ends)


def test_ends_that_do_not_ascend_stay_inside_memory():
    x, matrices = torch.randn(33, 8), torch.randn(4, 8, 16)
    sample = {"x": x, "matrices": matrices, "ends": torch.tensor([3, 9, 9, 33], dtype=torch.int32)}
    session = smelt.torch.compile_module(
        Ends(), sample, dynamic_shapes={"x": {0: "N"}}, max={"N": 100}, no_plan_cache=True
    ).session()
    assert relative(session.run(**sample)["output"], Ends()(**sample)) <= 1e-6
    for ends in ([-5, 2**31 - 1, -(2**31), 7], [10**6, 10**9, -1, 0], [-1, -1, -1, -1]):
        found = session.run(x=x, matrices=matrices, ends=torch.tensor(ends, dtype=torch.int32))["output"]
        assert found.shape == (33, 16)


def test_batched_products():
    """The implementation that copies an expert's matrices for each token it gets."""
    architecture = ARCHITECTURES["mixtral"]
    model, sample = architecture.make(), architecture.batch(3, 11)
    model.set_experts_implementation("batched_mm")
    session = smelt.torch.compile_module(
        model, sample, dynamic_shapes=architecture.dynamic_shapes(sample), max=BOUNDS, no_plan_cache=True
    ).session()
    batch = architecture.batch(5, 17)
    with torch.no_grad():
        assert relative(session.run(**batch)["logits"], model(**batch).logits) <= 1e-5
