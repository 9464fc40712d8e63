"""Losses whose code looks at numbers before it computes, or that PyTorch computes in one function: values and gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import smelt
import smelt.torch

WEIGHTS = torch.tensor([0.3, 1.0, 0.6, 0.9])

LOSSES = {
    "gaussian": lambda z, y: F.gaussian_nll_loss(z[:, 0], y.float(), z[:, 1].exp()),
    "gaussian, full": lambda z, y: F.gaussian_nll_loss(z, y.float()[:, None], z[:, :1] ** 2, full=True, reduction="sum"),
    "gaussian, one variance a row": lambda z, y: F.gaussian_nll_loss(z, y.float()[:, None].expand(z.shape), z[:, 3].exp()),
    "gaussian, variances below eps": lambda z, y: F.gaussian_nll_loss(z[:, 0], y.float(), z[:, 1].abs() * 0.01, eps=0.01),
    "gaussian, a number": lambda z, y: F.gaussian_nll_loss(z[:, 0], y.float(), 2.0),
    "cross entropy, weights and smoothing": lambda z, y: F.cross_entropy(z, y, weight=WEIGHTS, label_smoothing=0.1),
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


def test_a_variance_that_pytorch_refuses_gives_nan():
    class Loss(nn.Module):
        def forward(self, x, v):
            return F.gaussian_nll_loss(x, torch.zeros(3), v, reduction="none")

    x, v = torch.ones(3), torch.tensor([1.0, -1.0, 4.0])
    found = smelt.torch.compile_module(Loss(), (x, v.abs())).session().run(x=x, v=v)["output"]
    assert found.isnan().tolist() == [False, True, False]
