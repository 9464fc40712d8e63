"""torch.compile with somebody's own model, loop, optimiser and schedule."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import smelt
from smelt.torch.backend import smelt_backend


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        rows, length, width = x.size()
        parts = self.qkv(self.first(x)).split(width, dim=2)
        q, k, v = (p.view(rows, length, self.heads, width // self.heads).transpose(1, 2) for p in parts)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        seen = torch.tril(torch.ones(length, length)).view(1, 1, length, length)
        y = F.softmax(scores.masked_fill(seen == 0, float("-inf")), dim=-1) @ v
        x = x + self.out(y.transpose(1, 2).contiguous().view(rows, length, width))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Decoder(nn.Module):
    def __init__(self, words=65, width=32, layers=2, heads=4, longest=64):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids, targets):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


def two_models():
    torch.manual_seed(0)
    model, other = Decoder(), Decoder()
    other.load_state_dict(model.state_dict())
    return model, other


class Trainer:
    """A loop with a schedule and clipping, as people write it."""

    def __init__(self, model, run):
        self.model, self.run = model, run
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 20)

    def step(self, ids, targets):
        loss = self.run(ids, targets)[1]
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        return loss.item()


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


def batch_of(rows, length):
    ids = torch.randint(0, 65, (rows, length), generator=torch.Generator().manual_seed(rows * 100 + length))
    return ids, torch.roll(ids, -1, 1)


def test_training_has_the_same_losses_and_one_graph():
    model, other = two_models()
    compiled = torch.compile(other, backend=smelt_backend, dynamic=True, options={"max": {"B": 8, "T": 64}})
    expected, found = Trainer(model, model), Trainer(other, compiled)
    for i in range(10):
        batch = batch_of(2 + i % 3, 9 + i)
        loss = expected.step(*batch)
        assert abs(found.step(*batch) - loss) <= 1e-5 * loss, i
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def gradients_of(model, total):
    model.zero_grad()
    total.backward(retain_graph=True)
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def totals(outputs):
    """What people take gradients of: the loss, parts of it, other outputs, and several of them."""
    logits, loss = outputs
    return loss, loss / 4, logits.square().mean(), loss + logits.mean(), loss * 3


def test_gradients_of_all_outputs_in_every_call():
    model, other = two_models()
    compiled = torch.compile(other, backend=smelt_backend, dynamic=True, options={"max": {"B": 8, "T": 64}})
    for rows, length in ((2, 9), (3, 9), (4, 13)):
        batch = batch_of(rows, length)
        for a, b in zip(totals(model(*batch)), totals(compiled(*batch))):
            expected = gradients_of(model, a)
            assert torch.allclose(gradients_of(other, b), expected, rtol=1e-4, atol=1e-6)


class Noisy(nn.Module):
    """The gradient of its weight is the number of elements that dropout has kept, twice as large."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(50))

    def forward(self, x):
        kept = F.dropout(x * self.weight, 0.5)
        return kept, kept.sum()


def test_gradients_have_the_random_numbers_of_their_call():
    module = Noisy().train()
    compiled = torch.compile(module, backend=smelt_backend, dynamic=True, options={"max": {"B": 8}})
    seen = []
    for _ in range(4):
        kept, total = compiled(torch.ones(4, 50))
        assert kept.sum().item() == total.item()
        module.zero_grad()
        total.backward()
        assert torch.equal(module.weight.grad, kept.detach().sum(0))
        seen.append(kept.detach())
    assert not any(torch.equal(a, b) for a, b in zip(seen, seen[1:]))


def test_inference_needs_no_gradient():
    model, other = two_models()
    compiled = torch.compile(other, backend=smelt_backend, dynamic=True, options={"max": {"B": 8, "T": 64}})
    with torch.no_grad():
        assert torch.allclose(compiled(*batch_of(3, 11))[0], model(*batch_of(3, 11))[0], atol=1e-4)


def test_sizes_beyond_the_bounds_are_an_error():
    compiled = torch.compile(Decoder(), backend=smelt_backend, dynamic=True, options={"max": {"B": 4, "T": 16}})
    compiled(*batch_of(3, 11))
    with pytest.raises(smelt.Error, match="T"):
        compiled(*batch_of(3, 17))


@pytest.mark.parametrize("options, message", [({"max": {"B": 4}}, "2 sizes change"), ({"maximum": {}}, "no option")])
def test_options_that_do_not_fit(options, message):
    compiled = torch.compile(Decoder(), backend=smelt_backend, dynamic=True, options=options)
    with pytest.raises(Exception, match=message):
        compiled(*batch_of(3, 11))


def test_what_smelt_cannot_do_is_left_to_pytorch_if_asked():
    def eigenvalues(x):
        return torch.linalg.eigvalsh(x)

    x = torch.eye(3) * 2
    with pytest.raises(Exception, match="linalg_eigh"):
        torch.compile(eigenvalues, backend=smelt_backend)(x)
    torch._dynamo.reset()
    left = torch.compile(eigenvalues, backend=smelt_backend, options={"fallback": True})
    assert torch.allclose(left(x), torch.full((3,), 2.0))


@pytest.mark.parametrize("shape", ((), (1,), (1, 1)))
def test_gradients_of_one_element_of_any_shape(shape):
    def function(x, w):
        return (x @ w).reshape(shape), x.sum(0).detach()

    for _ in range(2):
        x, w = torch.randn(1, 4, requires_grad=True), torch.randn(4, 1, requires_grad=True)
        expected = torch.autograd.grad(function(x, w)[0].sum(), (x, w))
        found = torch.autograd.grad(torch.compile(function, backend=smelt_backend)(x, w)[0].sum(), (x, w))
        torch.testing.assert_close(found, expected)
