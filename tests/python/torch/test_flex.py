"""flex_attention with score_mod, mask_mod and buffers, as PyTorch computes it without a compiler; gradients as those of
two products around a softmax."""

import math

import pytest
import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import smelt
import smelt.torch
import smelt.torch.backend

HEADS, WIDTH = 4, 8


class Buffers(nn.Module):
    def __init__(self, longest=160):
        super().__init__()
        torch.manual_seed(0)
        self.slopes = nn.Parameter(torch.randn(HEADS))
        self.cap = nn.Parameter(torch.tensor(2.0))
        self.bias = nn.Parameter(torch.randn(HEADS, longest, longest))
        self.rows = nn.Parameter(torch.randn(3, longest))
        self.register_buffer("documents", torch.arange(longest) // 5)
        self.register_buffer("lengths", torch.tensor([0, 3, 40]))


def alibi(m, score, b, h, i, j):
    return torch.tanh(score / m.cap) * m.cap + m.slopes[h] * (j - i)


def causal(m, score, b, h, i, j):
    return torch.where(i >= j, score, -float("inf"))


def biased(m, score, b, h, i, j):
    return score + m.bias[h, i, j] + m.rows[b][j]


def two_indices(m, score, b, h, i, j):
    return score + m.bias[h, i, j] + m.rows[b, j]


def window(m, b, h, i, j):
    return (i >= j) & (i - j <= 3)


def documents(m, b, h, i, j):
    return (m.documents[i] == m.documents[j]) & ~(i < j)


def padding(m, b, h, i, j):
    return j < m.lengths[b]


class Flex(Buffers):
    def __init__(self, score_mod, mask_mod, plain=False):
        super().__init__()
        self.score_mod, self.mask_mod, self.plain = score_mod, mask_mod, plain

    def forward(self, q, k, v):
        score_mod = self.score_mod and (lambda score, b, h, i, j: self.score_mod(self, score, b, h, i, j))
        mask_mod = self.mask_mod and (lambda b, h, i, j: self.mask_mod(self, b, h, i, j))
        if self.plain:
            return reference(q, k, v, score_mod, mask_mod)
        mask = None
        if mask_mod:
            mask = create_block_mask(mask_mod, q.shape[0], None, q.shape[2], k.shape[2], device="cpu")
        return flex_attention(q, k, v, score_mod=score_mod, block_mask=mask, enable_gqa=True, return_lse=True)


def reference(q, k, v, score_mod, mask_mod):
    k, v = (x.repeat_interleave(HEADS // x.shape[1], 1) for x in (k, v))
    sizes = (q.shape[0], HEADS, q.shape[2], k.shape[2])
    places = [torch.arange(n).view([-1 if i == axis else 1 for i in range(4)]) for axis, n in enumerate(sizes)]
    scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH)
    scores = score_mod(scores, *places) if score_mod else scores
    scores = torch.where(mask_mod(*places), scores, -float("inf")) if mask_mod else scores
    return torch._safe_softmax(scores, -1) @ v, scores.logsumexp(-1)


CASES = [(None, None), (alibi, None), (causal, None), (biased, padding), (alibi, window), (None, documents)]


def inputs(batch, length):
    return {name: torch.randn(batch, heads, length, WIDTH) for name, heads in (("q", HEADS), ("k", 2), ("v", 2))}


@pytest.mark.parametrize("score_mod,mask_mod", CASES)
def test_as_without_a_compiler(score_mod, mask_mod):
    module = Flex(score_mod, mask_mod).requires_grad_(False)
    dims = {name: {0: "B", 2: "T"} for name in "qkv"}
    plan = smelt.torch.compile_module(module, inputs(2, 6), dynamic_shapes=dims, max={"B": 3, "T": 160})
    session = plan.session()
    for batch, length in ((2, 6), (1, 1), (3, 17), (1, 150)):
        given = inputs(batch, length)
        found, (means, lse) = session.run(**given), module(**given)
        torch.testing.assert_close(found["output.0"], means, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(found["output.1"], lse, rtol=1e-4, atol=1e-4)


class Loss(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.attention, self.linear = attention, nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x):
        means, lse = self.attention(*self.linear(x).chunk(3, -1))
        return {"loss": means.square().mean() + torch.where(lse > -100, lse, 0.0).mean()}


@pytest.mark.parametrize("score_mod,mask_mod", [(alibi, window), (two_indices, documents)])
def test_steps(score_mod, mask_mod):
    module, plain = Loss(Flex(score_mod, mask_mod)), Loss(Flex(score_mod, mask_mod, plain=True))
    plain.load_state_dict(module.state_dict())
    sample, dims = {"x": torch.randn(2, HEADS, 6, WIDTH)}, {"x": {0: "B", 2: "T"}}
    session = smelt.torch.compile_module(
        module, sample, dynamic_shapes=dims, max={"B": 3, "T": 32}, mode="train", optimizer=smelt.SGD()
    ).session()
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
    for length in (6, 1, 9, 32):
        x = torch.randn(2, HEADS, length, WIDTH)
        optimizer.zero_grad()
        loss = plain(x)["loss"]
        loss.backward()
        optimizer.step()
        assert session.step(x=x, lr=0.1).loss == pytest.approx(float(loss.detach()), rel=1e-5)


@pytest.mark.parametrize("dynamic", (True, False))
def test_as_a_backend(dynamic):
    class Given(nn.Module):
        def forward(self, q, mask):
            return flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score * 0.5 + i - j, block_mask=mask)

    torch._dynamo.reset()
    module = Given()
    compiled = torch.compile(
        module, backend=smelt.torch.backend.smelt_backend, dynamic=dynamic, options={"max": {"B": 4, "T": 300}}
    )
    for batch, length in ((2, 6), (3, 17), (2, 140)):
        q = torch.randn(batch, HEADS, length, WIDTH)
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device="cpu")
        torch.testing.assert_close(compiled(q, mask), module(q, mask), rtol=1e-4, atol=1e-5)


def test_what_a_score_mod_may_not_do():
    class Module(nn.Module):
        def forward(self, q):
            return flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score + torch.rand_like(score))

    with pytest.raises(smelt.Error, match="rand"):
        smelt.torch.compile_module(Module(), {"q": torch.randn(2, HEADS, 6, WIDTH)})
