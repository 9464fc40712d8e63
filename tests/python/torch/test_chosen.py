"""Elements that a mask chooses, whose number depends on the data: experts, adapters, losses at some tokens, images in text."""

import math

import pytest
import torch
from conftest import relative
from torch import nn
from torch.nn import functional as F

import smelt
import smelt.torch
from smelt.torch.backend import BEHIND_DIFFERENTIATION
from smelt.torch.compile import compile_text, import_module

BOUNDS = {"B": 7, "T": 16}
SIZES = ((1, 2), (3, 9), (7, 16))


def given(rows, length):
    """Numbers, kinds 0 to 3 of which some are missing, and labels of which some are -100."""
    kinds = torch.randint(0, 3, (rows, length))
    labels = torch.randint(0, 6, (rows, length))
    return {"x": torch.randn(rows, length, 6), "kinds": kinds, "labels": torch.where(kinds == 1, -100, labels)}


def dims():
    length = torch.export.Dim("T", min=2)
    return {name: {0: "B", 1: length} for name in ("x", "kinds", "labels")}


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))
        self.norm = nn.LayerNorm(6)
        self.table = nn.Parameter(torch.randn(20, 6))


class Adapters(Module):
    """x[mask] = layer(x[mask]), as adapters of languages are written."""

    def forward(self, x, kinds, labels):
        y = torch.zeros_like(x)
        for kind, layer in enumerate(self.layers):
            mask = kinds == kind
            y[mask] = F.gelu(layer(self.norm(x[mask])))
        return {"loss": y.square().sum()}


class Experts(Module):
    """Rows by torch.where, added where they came from, as mixtures of experts are written."""

    def forward(self, x, kinds, labels):
        rows = x.reshape(-1, 6)
        weights, experts = (rows @ self.table[:4].T).softmax(-1).topk(2)
        y = torch.zeros_like(rows)
        chosen = F.one_hot(experts, 4).permute(2, 1, 0)
        for i, layer in enumerate(self.layers):
            places, tokens = torch.where(chosen[i].bool())
            state = rows[None, tokens].reshape(-1, 6)
            y.index_add_(0, tokens, F.silu(layer(state)) * weights[tokens, places, None])
        return {"loss": (y * rows).sum()}


class Added(Module):
    """y[mask] += weight[mask] * layer(x[mask]), of a mask over tokens in a row."""

    def forward(self, x, kinds, labels):
        rows, kinds = x.flatten(0, 1), kinds.flatten()
        y = rows.clone()
        for kind, layer in enumerate(self.layers):
            mask = kinds == kind
            y[mask] += rows[mask, 0:1].sigmoid() * layer(rows[mask])
        return {"loss": y.square().sum()}


class Places(Module):
    """Coordinates of a mask with two dims, and of one, by nonzero."""

    def forward(self, x, kinds, labels):
        rows, steps = torch.nonzero(kinds == 2, as_tuple=True)
        y = x.index_put((rows, steps), self.layers[0](x[rows, steps]))
        found = (kinds.flatten() == 0).nonzero().squeeze(-1)
        flat = y.flatten(0, 1)
        flat = flat.index_copy(1, torch.tensor([0]), flat[:, :1] * 2).clone()
        flat[found] = self.layers[1](flat[found])
        table = torch.nonzero(kinds == 1)
        return {"loss": flat.square().sum() + x[table[:, 0], table[:, 1]].pow(3).sum()}


class LossOfSome(Module):
    """The usual loss of a language model at the tokens that have a label."""

    def forward(self, x, kinds, labels):
        logits = self.layers[0](x[labels != -100])
        return {"loss": F.cross_entropy(logits, labels[labels != -100], label_smoothing=0.1)}


class LossOfKinds(Module):
    """Losses with a mean and a sum, one of them over two dims behind the chosen one."""

    def forward(self, x, kinds, labels):
        mask = kinds == 0
        pairs = self.layers[0](x)[mask].view(-1, 3, 2)
        loss = F.mse_loss(pairs, x[mask].view(-1, 3, 2)) + F.l1_loss(pairs, pairs.detach() * 0.5, reduction="sum")
        each = F.cross_entropy(pairs.reshape(-1, 2), (x[mask].view(-1, 3, 2)[..., 0] > 0).long().view(-1), reduction="none")
        return {"loss": loss + each.mean() + F.binary_cross_entropy_with_logits(x[mask], x[mask].sigmoid().detach())}


class Means(Module):
    """Reductions of chosen places alone, and of other dims before."""

    def forward(self, x, kinds, labels):
        y = self.layers[0](x)
        mask = kinds < 2
        return {"loss": y[mask].mean() + y[mask].mean(0).square().sum() + y[mask].mean(-1).sum() + y[mask].sum((0, 1))}


class Logarithms(Module):
    """A function that other places do not have: neither it nor its derivative is of them."""

    def forward(self, x, kinds, labels):
        y = self.layers[0](x)
        positive = y > 0
        logs = y.masked_select(positive).log()
        z = torch.zeros_like(y)
        z[positive] = y[positive].sqrt()
        rows = torch.where(positive.all(-1))
        return {"loss": logs.sum() + z.sum() + y[rows].log().sum() + y[positive].pow(-0.5).mean()}


class ImagesInText(Module):
    """Features of the images that are there, in order, at the places of a text that wait for them."""

    def forward(self, x, kinds, labels):
        real = (kinds[:, 0] < 2) & (x[:, 0, 0] > -0.5)
        images = x[:, :2][real]
        features = F.scaled_dot_product_attention(*(layer(images)[:, None] for layer in self.layers[:3]))[:, 0]
        waiting = torch.zeros_like(kinds, dtype=torch.bool)
        waiting[:, :2] = real[:, None]
        text = self.table[kinds]
        text = text.masked_scatter(waiting[..., None].expand_as(text), features.reshape(-1, 6))
        return {"loss": (text * self.layers[3](x)).sum()}


class Rows(Module):
    """Operations on each chosen row: sorts, softmax, joins, dims that move."""

    def forward(self, x, kinds, labels):
        mask = kinds != 1
        rows = x[mask]
        best, _ = rows.topk(3, -1)
        both = torch.cat([best, rows.softmax(-1)[:, :3]], -1).unflatten(-1, (2, 3)).transpose(1, 2).flatten(1)
        both = both * self.table[labels[mask].clamp(0)] + torch.stack([rows, rows.cumsum(-1)], 1).sum(1)
        y = x.clone()
        y[mask] = both @ self.table[:6]
        y[kinds == 1] = self.table[0]
        return {"loss": y.square().sum()}


class InOrder(Module):
    """The values of one mask, or of a tensor, at the places of another one, in order."""

    def forward(self, x, kinds, labels):
        y, rows = self.layers[0](x), self.table[: 2 * x.shape[0]]
        shifted = (kinds == 0).roll(1, 1)
        y[shifted] = self.layers[1](x[kinds == 0])
        first = torch.zeros_like(kinds, dtype=torch.bool)
        first[:, :2] = True
        z = self.layers[2](x)
        z[first] = rows.tanh()
        return {"loss": y.square().sum() + z.pow(3).sum()}


class OfChosen(Module):
    """A mask of what another mask chose, and rows of a table by chosen kinds."""

    def forward(self, x, kinds, labels):
        rows, own = self.layers[0](x[kinds < 2]), kinds[kinds < 2]
        inner = rows[:, 0] > 0
        loss = rows[inner].square().sum() + rows[inner].mean() + (own[inner] * rows[inner, 1]).sum()
        rows = rows.clone()
        rows[inner] = self.table.index_select(0, own[inner])
        return {"loss": loss + rows.pow(3).sum() + rows.mean(1).sum()}


MODULES = (Adapters, Experts, Added, Places, LossOfSome, LossOfKinds, Means, Logarithms, ImagesInText, Rows, InOrder, OfChosen)


@pytest.mark.parametrize("kind", MODULES)
def test_losses_and_gradients(kind):
    module = kind()
    program = import_module(module, given(2, 5), dims(), BOUNDS, True, "loss")
    passes = f"differentiate{{output=loss_sum}},{BEHIND_DIFFERENTIATION}"
    session = compile_text(program.text, mode="infer", pipeline=passes, no_plan_cache=True).session(from_scratch=True)
    session.load_state_dict({name: tensor.detach() for name, tensor in program.parameters.items()})
    for i, (rows, length) in enumerate(SIZES):
        torch.manual_seed(i)
        batch = given(rows, length)
        module.zero_grad()
        loss = module(**batch)["loss"]
        loss.backward()
        found = session.run("loss", **{name: batch[name] for name in program.inputs})
        assert math.isfinite(loss.item())
        count = float(found["token_count"])
        assert abs(float(found["loss_sum"]) / count - loss.item()) <= 1e-5 * max(1, abs(loss.item())), (rows, length)
        for name, parameter in module.named_parameters():
            if parameter.grad is None or not parameter.grad.any():
                continue
            gradient = torch.from_dlpack(found[f"grad.{name}"]) / count
            is_close = relative(gradient, parameter.grad) <= 2e-5 or parameter.grad.norm() <= 1e-6
            assert is_close, (name, rows, length)


def test_what_is_not_chosen_does_not_matter():
    """NaN in places that no mask chooses, and masks that choose nothing or everything."""

    class Some(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 6)

        def forward(self, x, kinds):
            y = torch.zeros_like(x)
            y[kinds == 0] = self.layer(x[kinds == 0])
            return y, x[kinds == 0].mean()

    module = Some()
    session = smelt.torch.compile_module(
        module, {"x": torch.randn(2, 3, 6), "kinds": torch.ones(2, 3, dtype=torch.int64)},
        dynamic_shapes={"x": {0: "B"}, "kinds": {0: "B"}}, max={"B": 4},
    ).session()
    for kinds in (torch.tensor([[0, 1, 1]]), torch.zeros(1, 3, dtype=torch.int64), torch.ones(1, 3, dtype=torch.int64)):
        x = torch.randn(1, 3, 6)
        x[kinds != 0] = math.nan
        for own, expected in zip(session.run(x=x, kinds=kinds).values(), module(x, kinds)):
            assert torch.allclose(torch.as_tensor(own), expected, 1e-5, 1e-6, equal_nan=True)


def refused(name, reason=""):
    def mark(function):
        REFUSED[name] = (function, reason)
        return function

    return mark


REFUSED: dict = {}


@refused("a result")
def _(x, kinds):
    return x[kinds == 0]


@refused("along the chosen ones", "needs all of them")
def _(x, kinds):
    y = x.clone()
    y[kinds == 0] = x[kinds == 0].softmax(0)
    return y


@refused("running along the chosen ones", "needs all of them")
def _(x, kinds):
    y = x.clone()
    y[kinds == 0] = x[kinds == 0].cumsum(0)
    return y


@refused("the largest of the chosen ones", "needs all of them")
def _(x, kinds):
    return x[kinds == 0].amax(0)


@refused("products of all pairs")
def _(x, kinds):
    rows = x[kinds == 0]
    return (rows @ rows.T).sum()


@refused("their number", "computes with how many")
def _(x, kinds):
    rows = x[kinds == 0]
    return rows.sum() / (rows.shape[0] + 1)


@refused("other places", "which may be the same")
def _(x, kinds):
    y, places = x.flatten(0, 1).clone(), torch.where(kinds.flatten() == 0)[0]
    y[places // 2] = y[places]
    return y


@refused("other rows")
def _(x, kinds):
    return x[kinds == 0].reshape(x.shape[0], -1, 6).sum()


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    function, reason = REFUSED[name]

    class Refused(nn.Module):
        forward = staticmethod(function)

    with pytest.raises(smelt.Error, match=reason or "depends on the|divided by numbers alone"):
        smelt.torch.compile_module(
            Refused(), {"x": torch.randn(3, 4, 6), "kinds": torch.zeros(3, 4, dtype=torch.int64)},
            dynamic_shapes={"x": {0: "B"}, "kinds": {0: "B"}}, max={"B": 8}, no_plan_cache=True,
        )


def test_the_last_chosen_of_each_row():
    """As classifiers of BART read the last token that ends a text, and check that all texts have as many."""

    class Last(nn.Module):
        def forward(self, x, kinds):
            mask = kinds.eq(2)
            torch._check(torch.unique_consecutive(mask.sum(1)).numel() == 1)
            return x[mask, :].view(x.size(0), -1, x.size(-1))[:, -1, :]

    sample = {"x": torch.randn(3, 4, 6), "kinds": torch.full((3, 4), 2)}
    shapes = {name: {0: "B", 1: "T"} for name in sample}
    session = smelt.torch.compile_module(Last(), sample, dynamic_shapes=shapes, max={"B": 8, "T": 9}).session()
    x, kinds = torch.randn(3, 9, 6), torch.zeros(3, 9, dtype=torch.int64)
    kinds[0, 1] = kinds[0, 5] = kinds[1, 0] = kinds[1, 8] = kinds[2, 3] = kinds[2, 4] = 2
    assert torch.equal(torch.as_tensor(session.run(x=x, kinds=kinds)["output"]), Last()(x, kinds))
    for row, place, kind in ((0, 0, 2), (1, 8, 0)):
        other = kinds.clone()
        other[row, place] = kind
        with pytest.raises(smelt.Error):
            session.run(x=x, kinds=other)
    with pytest.raises(smelt.Error):
        session.run(x=x, kinds=torch.zeros_like(kinds))


def test_masks_of_constants():
    class Chunks(nn.Module):
        def forward(self, x):
            steps = torch.arange(x.shape[1])
            starts = torch.tensor([0, 2, 5])
            chunk = ((steps[:, None] >= starts) & (steps[:, None] < starts + torch.tensor([2, 3, 9]))).nonzero()[:, 1]
            return x + starts[chunk]

    x = torch.randn(2, 7)
    session = smelt.torch.compile_module(Chunks(), {"x": x}, dynamic_shapes={"x": {0: "B"}}, max={"B": 8}).session()
    assert torch.equal(torch.as_tensor(session.run(x=x)["output"]), Chunks()(x))


def test_masks_in_buffers():
    """Their number is known: softmax along what they choose, and results of it."""

    class Visible(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("visible", torch.tensor([True, False, True, True, False]), persistent=False)
            self.register_buffer("pairs", torch.ones(3, 3).tril().bool(), persistent=False)

        def forward(self, x):
            some = x[:, self.visible]
            pairs = (some.unsqueeze(2) * some.unsqueeze(1))[:, self.pairs]
            rows = torch.nonzero(self.visible).squeeze(1)
            return some.softmax(1), pairs, x[:, rows].amax(1)

    x = torch.randn(2, 5, 4)
    session = smelt.torch.compile_module(Visible(), {"x": x}, dynamic_shapes={"x": {0: "B"}}, max={"B": 8}).session()
    for found, expected in zip(session.run(x=x).values(), Visible()(x)):
        assert relative(found, expected) <= 1e-6


def test_another_number_of_rows_is_an_error():
    class Filled(nn.Module):
        def forward(self, x, kinds):
            y = torch.zeros_like(x)
            y[kinds == 0] = x[0]
            return y

    sample = {"x": torch.randn(3, 4, 6), "kinds": torch.zeros(3, 4, dtype=torch.int64)}
    shapes = {"x": {0: "B"}, "kinds": {0: "B"}}
    session = smelt.torch.compile_module(Filled(), sample, dynamic_shapes=shapes, max={"B": 8}).session()
    x, kinds = torch.randn(2, 4, 6), torch.ones(2, 4, dtype=torch.int64)
    kinds[0, 1] = kinds[0, 3] = kinds[1, 0] = kinds[1, 2] = 0
    assert torch.equal(torch.as_tensor(session.run(x=x, kinds=kinds)["output"]), Filled()(x, kinds))
    for place in ((0, 0), (1, 0)):
        other = kinds.clone()
        other[place] = 1 - other[place]
        with pytest.raises(smelt.Error):
            session.run(x=x, kinds=other)
