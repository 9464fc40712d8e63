"""Losses whose code looks at numbers before it computes, or that PyTorch computes in one function: values and gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import smelt
import smelt.torch
from smelt.torch.backend import smelt_backend

WEIGHTS = torch.tensor([0.3, 1.0, 0.6, 0.9])
LABELS = torch.tensor([[0, 2, -1, 1], [3, -1, -1, -1], [-1, 0, 1, 2], [1, 1, 0, -1], [0, 1, 2, 3]])
"""Of several classes a row: those before the first -1."""

LOSSES = {
    "gaussian": lambda z, y: F.gaussian_nll_loss(z[:, 0], y.float(), z[:, 1].exp()),
    "gaussian, full": lambda z, y: F.gaussian_nll_loss(z, y.float()[:, None], z[:, :1] ** 2, full=True, reduction="sum"),
    "gaussian, one variance a row": lambda z, y: F.gaussian_nll_loss(z, y.float()[:, None].expand(z.shape), z[:, 3].exp()),
    "gaussian, variances below eps": lambda z, y: F.gaussian_nll_loss(z[:, 0], y.float(), z[:, 1].abs() * 0.01, eps=0.01),
    "gaussian, a number": lambda z, y: F.gaussian_nll_loss(z[:, 0], y.float(), 2.0),
    "cross entropy, weights and smoothing": lambda z, y: F.cross_entropy(z, y, weight=WEIGHTS, label_smoothing=0.1),
    "margins": lambda z, y: F.multi_margin_loss(z, y, weight=WEIGHTS, margin=0.5),
    "squared margins": lambda z, y: F.multi_margin_loss(z, y, p=2, reduction="sum"),
    "margins of a vector": lambda z, y: F.multi_margin_loss(z[0], y[1]),
    "margins of several": lambda z, y: F.multilabel_margin_loss(z, LABELS),
    "margins of several, of each row": lambda z, y: F.multilabel_margin_loss(z, LABELS, reduction="none").square().sum(),
    "product": lambda z, y: z.sigmoid().prod(-1).mean(),
}


class Model(nn.Module):
    def __init__(self, loss):
        super().__init__()
        self.linear, self.loss = nn.Linear(6, 4), loss

    def forward(self, x, y):
        return {"loss": self.loss(self.linear(x), y)}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_their_gradients(name):
    torch.manual_seed(0)
    model = Model(LOSSES[name])
    batch = dict(x=torch.randn(5, 6), y=torch.tensor([0, 1, 2, 3, 1]))
    expected = model(**batch)["loss"]
    expected.backward()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    session = smelt.torch.compile_module(model, batch, mode="train", optimizer=smelt.SGD(lr=1.0)).session()
    assert float(session.step(lr=1.0, **batch).loss) == pytest.approx(expected.item(), rel=1e-5)
    after = session.state_dict()
    for key, parameter in model.named_parameters():
        torch.testing.assert_close(before[key] - after[key], parameter.grad, rtol=1e-4, atol=1e-5)


MANY = torch.arange(5000.0)
SHARES = (MANY * 0.7).cos().repeat(6, 1).softmax(-1)
OF_MANY_CLASSES = {
    "logsumexp": lambda z, y: z.logsumexp(-1).sum(),
    "log_softmax": lambda z, y: (z.log_softmax(-1) * SHARES.to(z)).sum(),
    "cross entropy": lambda z, y: F.cross_entropy(z, y),
    "cross entropy, weights and smoothing": lambda z, y: F.cross_entropy(
        z, y, weight=(MANY.sin() + 2).to(z), label_smoothing=0.1
    ),
    "nll": lambda z, y: F.nll_loss(z.log_softmax(-1), y, ignore_index=7),
    "kl": lambda z, y: F.kl_div(z.log_softmax(-1), SHARES.to(z), reduction="batchmean"),
}


@pytest.mark.parametrize("name", OF_MANY_CLASSES)
@pytest.mark.parametrize("offset", (0.0, 1000.0))
def test_losses_of_many_classes(name, offset):
    """Losses and gradients of 5,000 logits have the digits of float32: nothing in them cancels."""

    def with_gradient(function, z):
        z = z.clone().requires_grad_()
        loss = function(z, torch.arange(6) + 5)
        loss.backward()
        return loss.detach().double(), z.grad.double()

    torch.manual_seed(0)
    z = 3 * torch.randn(6, 5000) + offset
    loss = OF_MANY_CLASSES[name]
    exact = with_gradient(loss, z.double())
    for value, found in zip(exact, with_gradient(torch.compile(loss, backend=smelt_backend), z)):
        assert (found - value).abs().max() <= 1e-6 * value.abs().max()


@pytest.mark.parametrize("loss", [F.multi_margin_loss, F.multilabel_margin_loss])
def test_a_shape_that_pytorch_traces_wrong_is_refused(loss):
    class Loss(nn.Module):
        def forward(self, x, y):
            return loss(x, y, reduction="none")

    y = torch.tensor(1) if loss is F.multi_margin_loss else torch.tensor([1, 0, -1, 2])
    with pytest.raises(smelt.Error, match="without a batch"):
        smelt.torch.compile_module(Loss(), (torch.ones(4), y))


def test_a_variance_that_pytorch_refuses_gives_nan():
    class Loss(nn.Module):
        def forward(self, x, v):
            return F.gaussian_nll_loss(x, torch.zeros(3), v, reduction="none")

    x, v = torch.ones(3), torch.tensor([1.0, -1.0, 4.0])
    found = smelt.torch.compile_module(Loss(), (x, v.abs())).session().run(x=x, v=v)["output"]
    assert found.isnan().tolist() == [False, True, False]


# ---- alignments


def _tail(y, lengths):
    return torch.cat([row[:n] for row, n in zip(y, lengths)])


def _selected(z, y, lengths):
    """As models of transformers have it: targets that a mask selects, in rows of as many as it selects."""
    labels = torch.where(torch.arange(4) == 1, -100, y)
    mask = labels >= 0
    return F.ctc_loss(z.log_softmax(-1), labels.masked_select(mask), lengths, mask.sum(-1))


ALIGNED = {
    "targets that a mask selects": lambda z, y, i, t: _selected(z, y, i),
    "mean": lambda z, y, i, t: F.ctc_loss(z.log_softmax(-1), y, i, t),
    "sum": lambda z, y, i, t: F.ctc_loss(z.log_softmax(-1), y, i, t, reduction="sum"),
    "each": lambda z, y, i, t: F.ctc_loss(z.log_softmax(-1), y, i, t, reduction="none") @ torch.tensor([1.0, 2.0, 3.0]),
    "another blank": lambda z, y, i, t: F.ctc_loss(z.log_softmax(-1), y * (y != 3), i, t, blank=3),
    "no probabilities": lambda z, y, i, t: F.ctc_loss(z * 0.3 - 2, y, i, t),
    "lengths that are numbers": lambda z, y, i, t: F.ctc_loss(z.log_softmax(-1), y, (9, 9, 5), (4, 2, 0)),
    "targets in a row": lambda z, y, i, t: F.ctc_loss(z.log_softmax(-1), _tail(y, (4, 2, 0)), (9, 9, 5), (4, 2, 0)),
    "too short, infinite as 0": lambda z, y, i, t: F.ctc_loss(z.log_softmax(-1), y, i - 5, t, zero_infinity=True),
    "a single row": lambda z, y, i, t: F.ctc_loss(z[:, 0].log_softmax(-1), y[0], i[0], t[0]),
}


class Aligned(nn.Module):
    def __init__(self, loss):
        super().__init__()
        self.logits, self.loss = nn.Parameter(torch.randn(9, 3, 6)), loss

    def forward(self, z, y, i, t):
        return {"loss": self.loss(self.logits + z, y, i, t)}


def _alignment():
    torch.manual_seed(0)
    y = torch.randint(1, 6, (3, 4))
    y[0, 1] = y[0, 0]
    return dict(z=torch.randn(9, 3, 6), y=y, i=torch.tensor([9, 9, 7]), t=torch.tensor([4, 2, 1]))


@pytest.mark.parametrize("name", ALIGNED)
def test_losses_of_alignments_and_their_gradients(name):
    batch = _alignment()
    model = Aligned(ALIGNED[name])
    expected = model(**batch)["loss"]
    expected.backward()
    before = model.logits.detach().clone()
    session = smelt.torch.compile_module(model, batch, mode="train", optimizer=smelt.SGD(lr=1.0)).session()
    found = session.step(**batch).loss
    assert found == pytest.approx(expected.item(), rel=1e-5)
    gradient = before - torch.as_tensor(session.state_dict()["logits"])
    assert (gradient - model.logits.grad).abs().max() <= 1e-5 * max(1, model.logits.grad.abs().max())


def test_alignments_of_lengths_that_change():
    class Each(nn.Module):
        def forward(self, z, y, i, t):
            return F.ctc_loss(z.log_softmax(-1), y, i, t, reduction="none")

    dims = {"z": {0: "T", 1: "B"}, "y": {0: "B"}, "i": {0: "B"}, "t": {0: "B"}}
    session = smelt.torch.compile_module(Each(), _alignment(), dynamic_shapes=dims, max={"T": 12, "B": 4}).session()
    for steps, rows in ((1, 2), (7, 1), (12, 4)):
        z, y = torch.randn(steps, rows, 6), torch.randint(1, 6, (rows, 4))
        i, t = torch.randint(1, steps + 1, (rows,)), torch.randint(0, 5, (rows,))
        found = torch.as_tensor(session.run(z=z, y=y, i=i, t=t)["output"])
        assert torch.allclose(found, Each()(z, y, i, t), rtol=1e-5)
    for wrong in (dict(i=i + 12), dict(t=t * 0 + 5), dict(t=t * 0 - 1)):
        with pytest.raises(smelt.Error, match="out of bounds|expected an id from 0 to 4"):
            session.run(**{**dict(z=z, y=y, i=i, t=t), **wrong})
