"""Single operations against PyTorch, at sizes that were not traced; some of them in one plan."""

import functools
import math

import pytest
import torch
from conftest import relative
from torch import nn
from torch.nn import functional as F

import smelt
import smelt.torch

TABLE = torch.randn(7, 4, generator=torch.Generator().manual_seed(1))
KERNEL = torch.randn(6, 2, 3, generator=torch.Generator().manual_seed(2))
KERNEL2 = torch.randn(4, 1, 3, 3, generator=torch.Generator().manual_seed(3))
UP = torch.randn(4, 3, 4, 4, generator=torch.Generator().manual_seed(4))

# x: f32[B,T,6], positive p of its shape, i: i64[B,T] in [-7, 7), image: f32[B,4,10,8]
FLOATS = {
    "add with alpha": lambda x, p, i, image: torch.add(x, p, alpha=2.5),
    "numbers in front": lambda x, p, i, image: 2 - x + 1 / p + 2**x,
    "spread of two": lambda x, p, i, image: x[:, :1] * x[:1] + x[..., 0:1],
    "types mixed": lambda x, p, i, image: x + i[..., None] * 2 + (i[..., None] > 0),
    "unary": lambda x, p, i, image: p.log() + p.sqrt() + p.rsqrt() + x.exp() + x.tanh() + x.erf() + x.sin() * x.cos(),
    "less usual": lambda x, p, i, image: p.log2() + p.log10() + x.exp2() + torch.erfc(x) + x.expm1() + p.log1p() + x.square(),
    "rounding": lambda x, p, i, image: (3 * x).floor() + (3 * x).ceil() + (3 * x).trunc() + (3 * x).round() + x.frac(),
    "halves": lambda x, p, i, image: (i * 0.5).round(),
    "division": lambda x, p, i, image: torch.div(5 * x, p, rounding_mode="floor") + torch.fmod(x, 0.3) + x % 0.3,
    "powers": lambda x, p, i, image: x**2 + x**3 + p**0.5 + p**-1.5 + p**0.3 + p**2.5 + x**-2,
    "powers of tensors": lambda x, p, i, image: p**x + x.pow(i[..., None].abs()),
    "activations": lambda x, p, i, image: F.relu(x) + F.gelu(x) + F.gelu(x, approximate="tanh") + F.silu(x) + F.elu(x) + F.leaky_relu(x),
    "more activations": lambda x, p, i, image: F.softplus(x) + F.logsigmoid(x) + F.hardswish(x) + F.mish(x) + F.relu6(4 * x) + F.hardtanh(x) + F.selu(x),
    "gated": lambda x, p, i, image: F.glu(x, -1),
    "clamp": lambda x, p, i, image: x.clamp(-0.5, 0.5) + x.clamp(min=0.1) + x.clamp(max=0.2) + torch.maximum(x, p),
    "choice": lambda x, p, i, image: torch.where(x > 0, x, p) + torch.where(x > 0, 1.0, 0.0) + x.masked_fill(x < 0, 3.0),
    "logic": lambda x, p, i, image: ((x > 0) & (p < 1) | ~(x > 0.5) ^ (p >= 1)).float(),
    "no numbers": lambda x, p, i, image: torch.nan_to_num(x / torch.relu(x), nan=1.0, posinf=2.0, neginf=3.0),
    "sums": lambda x, p, i, image: x.sum() + x.sum(1, keepdim=True) + x.sum((0, -1), keepdim=True) + x.mean(-1, keepdim=True),
    "means": lambda x, p, i, image: x.mean() + x.mean((0, 1)),
    "extremes": lambda x, p, i, image: x.amax(1, keepdim=True) + x.amin((0, 2), keepdim=True) + x.max() - x.min(),
    "extremes with places": lambda x, p, i, image: x.max(1).values + x.min(1).values + x.max(1).indices + x.argmin(1),
    "place of all": lambda x, p, i, image: x.argmax() + 0.0 * x.sum(),
    "moments": lambda x, p, i, image: x.var(-1) + x.std(-1) + x.var(1, correction=0).mean() + torch.var_mean(x, 1)[1].sum(),
    "norms": lambda x, p, i, image: x.norm(dim=-1) + torch.linalg.vector_norm(x, 1, dim=-1) + torch.linalg.vector_norm(x, math.inf, dim=-1) + F.normalize(x, dim=-1).sum(-1),
    "any and all": lambda x, p, i, image: ((x > 1).any(-1).float() + (x > -2).all(-1).float() + (x > 0).any().float()),
    "softmax": lambda x, p, i, image: x.softmax(-1) + x.softmax(1) + x.log_softmax(0) + x.logsumexp(-1, keepdim=True),
    "running sums": lambda x, p, i, image: x.cumsum(1) + x.cumsum(-1) + i.cumsum(1)[..., None],
    "largest": lambda x, p, i, image: x.topk(3, -1).values + x.topk(3, -1, largest=False).values + x.topk(3).indices,
    "largest of an axis": lambda x, p, i, image: image.topk(2, dim=1).values,
    "sorted": lambda x, p, i, image: x.sort(-1).values + x.sort(-1, descending=True).indices + x.argsort(-1),
    "permuted": lambda x, p, i, image: x.permute(2, 0, 1).transpose(0, -1) + x.movedim(1, 0).mT.sum(0)[:, None].mean(),
    "views": lambda x, p, i, image: x.reshape(-1, 3).view(x.shape[0], -1, 2, 3).flatten(2).unflatten(2, (3, 2)).sum(-1),
    "parts": lambda x, p, i, image: x * x[:, :1] + x[..., -1:] * x[:, -1:] + x[..., 1:2],
    "steps": lambda x, p, i, image: x[..., ::2] + x[..., 1::2] + x[:, ::3].sum() + x[:, 1::2].mean(),
    "splits": lambda x, p, i, image: sum(x.split(2, -1)) + sum(x.chunk(3, -1)) + torch.split(x, [1, 2, 3], -1)[1],
    "taken apart": lambda x, p, i, image: sum(x.unbind(-1)) + x.select(-1, -1) + x.narrow(2, 1, 2).sum(-1),
    "joined": lambda x, p, i, image: torch.cat([x, p[:, :1], x], 1) + 1,
    "stacked": lambda x, p, i, image: torch.stack([x, p, x], -2),
    "repeated": lambda x, p, i, image: x.repeat(2, 1, 3),
    "interleaved": lambda x, p, i, image: x.repeat_interleave(2, 1) + 1,
    "rolled": lambda x, p, i, image: x.roll(1, 1) + x.roll(-2, -1) + x.flip(-1) + x.flip(1),
    "no dims": lambda x, p, i, image: x.flip(()) + torch.all(x > 0, dim=()) + 2 * torch.any(x > 1, dim=()) + x.sum(()).exp(),
    "padded": lambda x, p, i, image: F.pad(x, (1, 2, 0, 1), value=0.5),
    "cropped": lambda x, p, i, image: F.pad(x, (-1, -1)),
    "triangles": lambda x, p, i, image: (x @ x.mT).tril() + (x @ x.mT).triu(1) + torch.eye(x.shape[1]),
    "rows of a table": lambda x, p, i, image: F.embedding(i + 7 - 7 * (i >= 0), TABLE) + TABLE[i] + TABLE[:, 1][i][..., None],
    "two indices": lambda x, p, i, image: x[torch.arange(x.shape[0]), i[:, 0] * 0 - 1] + x[:, 0],
    "indices apart": lambda x, p, i, image: image[:, [0, 1], :, [2, 3]].sum(0) + image[[0, -1]][:, :2, :, 0].sum((0, 1)),
    "gathered": lambda x, p, i, image: x.gather(1, (i * 0 + 1)[..., None].expand(-1, -1, 6)) + x.gather(-1, x.argsort(-1)),
    "selected": lambda x, p, i, image: x.index_select(-1, torch.tensor([2, 0, 5])),
    "added at": lambda x, p, i, image: torch.zeros_like(x).scatter_add(1, (i % 2)[..., None].expand(-1, -1, 6), x),
    "written at": lambda x, p, i, image: x.scatter(-1, x.argmax(-1, keepdim=True), 9.0),
    "written parts": lambda x, p, i, image: written(x),
    "one hot": lambda x, p, i, image: F.one_hot(i % 7, 7).float(),
    "windows": lambda x, p, i, image: x.unfold(2, 3, 2),
    "products": lambda x, p, i, image: x @ p.mT + torch.einsum("btc,bsc->bts", x, p) + torch.bmm(x, p.transpose(1, 2)),
    "spread products": lambda x, p, i, image: x[:, None] @ TABLE[:6] + torch.matmul(x[:1], TABLE[:6])[:, None],
    "vectors": lambda x, p, i, image: x @ TABLE[:6, 0] + torch.einsum("...c,c->...", x, TABLE[:6, 1]),
    "norm layers": lambda x, p, i, image: F.layer_norm(x, (6,)) + F.rms_norm(x, (6,)) + F.layer_norm(x, (6,), TABLE.new_ones(6) * 2),
    "norms of groups": lambda x, p, i, image: F.group_norm(image, 2) + F.instance_norm(image),
    "norm of several dims": lambda x, p, i, image: F.layer_norm(image, (10, 8)),
    "convolution": lambda x, p, i, image: F.conv1d(x.mT, KERNEL[:, :, :2].repeat(1, 3, 1)),
    "convolution in groups": lambda x, p, i, image: F.conv1d(x.mT, KERNEL, stride=1, padding=1, groups=3) + F.conv1d(x.mT, KERNEL, padding="same", groups=3),
    "convolution with steps": lambda x, p, i, image: F.conv1d(x.mT, KERNEL, stride=2, padding=2, dilation=2, groups=3),
    "images": lambda x, p, i, image: F.conv2d(image, KERNEL2, padding=1, groups=4) + F.conv2d(image, KERNEL2.repeat(1, 4, 1, 1), padding=1),
    "patches": lambda x, p, i, image: F.conv2d(image, UP.transpose(0, 1), stride=4),
    "transposed convolution": lambda x, p, i, image: F.conv_transpose2d(image, UP, stride=2, padding=1),
    "pools": lambda x, p, i, image: F.max_pool2d(image, 2) + F.avg_pool2d(image, 2) + F.adaptive_avg_pool2d(image, (5, 4)),
    "pools with padding": lambda x, p, i, image: F.avg_pool2d(image, 3, 2, 1) + F.avg_pool2d(image, 3, 2, 1, count_include_pad=False) + F.max_pool2d(image, 3, 2, 1),
    "pools with odd ends": lambda x, p, i, image: F.avg_pool2d(image, 3, 2, ceil_mode=True) + F.max_pool2d(image, 3, 2, ceil_mode=True),
    "resized": lambda x, p, i, image: F.interpolate(image, (7, 9), mode="bilinear") + F.interpolate(image, (7, 9), mode="bicubic") + F.interpolate(image, (7, 9)),
    "shuffled": lambda x, p, i, image: F.pixel_shuffle(image, 2),
    "attention": lambda x, p, i, image: F.scaled_dot_product_attention(heads(x), heads(p), heads(x), is_causal=True),
    "attention with a mask": lambda x, p, i, image: F.scaled_dot_product_attention(heads(x), heads(p), heads(x), (i > -3)[:, None, None]),
    "attention with a bias": lambda x, p, i, image: F.scaled_dot_product_attention(heads(x), heads(p), heads(x), i[:, None, :, None] * 0.1, scale=0.7),
    "attention without heads": lambda x, p, i, image: F.scaled_dot_product_attention(x, p, x),
    "losses": lambda x, p, i, image: F.cross_entropy(x.mT, i % 6, label_smoothing=0.1),
    "weighed loss": lambda x, p, i, image: F.cross_entropy(x.mT, i % 6, weight=TABLE.new_tensor([1, 2, 3, 4, 5, 6.0]), ignore_index=3),
    "loss against shares": lambda x, p, i, image: F.cross_entropy(x.mT, p.mT.softmax(1)) + F.kl_div(x.log_softmax(-1), p.softmax(-1), reduction="batchmean"),
    "likelihood": lambda x, p, i, image: F.nll_loss(x.mT.log_softmax(1), i % 6, reduction="sum") + F.nll_loss(x.mT, i % 6, ignore_index=1),
    "distances": lambda x, p, i, image: F.mse_loss(x, p) + F.l1_loss(x, p, reduction="sum") + F.smooth_l1_loss(x, p) + F.huber_loss(x, p),
    "binary losses": lambda x, p, i, image: F.binary_cross_entropy_with_logits(x, (p > 1).float(), pos_weight=TABLE.new_ones(6) * 2) + F.binary_cross_entropy(x.sigmoid(), (p > 1).float()),
    "sizes as numbers": lambda x, p, i, image: x * x.shape[1] + x / math.sqrt(x.shape[-1]) + torch.arange(x.shape[1])[:, None] / x.shape[1],
    "ranges": lambda x, p, i, image: torch.arange(1, 13, 2).float() + torch.linspace(0, 1, 6) + torch.arange(0, 3, 0.5) + x * 0,
    "angles": lambda x, p, i, image: x.atan() + torch.atan2(x, p) + x.tanh().asin() + x.tanh().acos() + torch.sinc(x),
    "hyperbolic functions": lambda x, p, i, image: x.sinh() + x.cosh() + x.asinh() + (p + 1).acosh() + (0.9 * x.tanh()).atanh(),
    "gamma functions": lambda x, p, i, image: torch.lgamma(p) + torch.digamma(p) + torch.polygamma(1, p),
    "error and Bessel functions": lambda x, p, i, image: torch.erfinv(0.9 * x.tanh()) + torch.special.i0e(x) + torch.special.i1(x),
    "running extremes": lambda x, p, i, image: x.cummax(1).values + x.cummin(-1).indices + x.logcumsumexp(1),
    "products of rows": lambda x, p, i, image: x.prod(-1, keepdim=True) + p.cumprod(-1),
    "elements of a rank": lambda x, p, i, image: x.median(-1).values + x.kthvalue(2, -1).values + x.nanmedian(-1).values,
    "most frequent": lambda x, p, i, image: i.mode(-1).values.float()[:, None, None] + x,
    "places in sorted numbers": lambda x, p, i, image: torch.searchsorted(TABLE[:, 0].sort().values, x) + torch.isin(i, i[:, :1])[..., None],
    "padded by itself": lambda x, p, i, image: F.pad(x.mT, (2, 1), "replicate") + F.pad(x.mT, (2, 1), "reflect") + F.pad(x.mT, (2, 1), "circular"),
    "cut and padded by itself": lambda x, p, i, image: F.pad(x.mT, (-1, 2), "circular") + F.pad(x.mT, (2, -1), "circular"),
    "numbers": lambda x, p, i, image: F.prelu(x.sum(), p.new_full((1,), 0.3)) + x.mean().transpose(0, -1),
    "diagonals": lambda x, p, i, image: image.diagonal(1, -2, -1) + image[:, :, :7].diagonal(0, 2, 3) + torch.diag_embed(x.sum(1), 1)[:, :4, :7],
    "pools of windows that differ": lambda x, p, i, image: F.adaptive_avg_pool2d(image, (3, 5)) + F.adaptive_max_pool2d(image, (3, 5)),
    "a pool beyond the image": lambda x, p, i, image: F.avg_pool2d(image, 4096, ceil_mode=True) + F.avg_pool2d(image, (10, 8)),
    "pools with places": lambda x, p, i, image: sum(F.max_pool2d(image, 3, 2, 1, return_indices=True)),
    "distances of rows": lambda x, p, i, image: torch.cdist(x[:, :3], p[:, :4]),
    "extremes at places": lambda x, p, i, image: x.scatter_reduce(-1, x.argsort(-1) // 2, p, "amax") + x.sum() * 0,
    "written where the mask is": lambda x, p, i, image: x.masked_scatter(p > 1, p),
    "masks of zeros and ones": lambda x, p, i, image: masks_of_integers(x),
    "written where a check allows": lambda x, p, i, image: written_after_check(x, p),
    "systems": lambda x, p, i, image: torch.linalg.solve(p.mT @ p + torch.eye(6), x.mT @ p) + torch.linalg.inv(p.mT @ p + torch.eye(6)),
    "factors": lambda x, p, i, image: torch.linalg.cholesky(p.mT @ p + torch.eye(6)) + torch.linalg.qr(image[:, 0, :6, :6]).R + torch.linalg.det(image[:, 0, :4, :4])[:, None, None],
    "sums of three products": lambda x, p, i, image: torch.einsum("btc,bsc,bs->bt", x, p, p[..., 0]) + torch.einsum("...ii->...", image[:, :1, :8])[..., :1],
    "weighed and smoothed loss": lambda x, p, i, image: F.cross_entropy(x.mT, i % 6, weight=TABLE.new_tensor([1, 2, 3, 4, 5, 6.0]), label_smoothing=0.1),
    "full": lambda x, p, i, image: torch.full_like(x, 2.0) + torch.ones(6) + x.new_zeros(x.shape) + torch.zeros_like(i)[..., None],
}  # fmt: skip
INTEGERS = {
    "whole division": lambda x, p, i, image: i // 3 + i % 3 + torch.div(i, 2, rounding_mode="trunc") + torch.fmod(i, 3),
    "whole numbers": lambda x, p, i, image: (x[..., 0] * 3).long() + i.abs() * 2 - i.clamp(-2, 2) + (-i) + i.sign(),
    "whole powers": lambda x, p, i, image: i**2 + 2 ** i.abs(),
    "whole extremes": lambda x, p, i, image: i.amax(1) - i.min() + i.sum(1) + i.argmax(1),
    "written where": lambda x, p, i, image: torch.where(i > 0, i, -1),
    "counted": lambda x, p, i, image: (i > 0).sum(1) + (i == 2).long().cumsum(1)[:, -1],
}  # fmt: skip
ALL = {**FLOATS, **INTEGERS}


def written(x):
    y = x.clone()
    y[:, 1:] = x[:, :-1] * 2
    y[:, 0] = 1.0
    y[..., ::2] += 1
    y[y > 2] = 0.0
    return y


def heads(x):
    return x.reshape(x.shape[0], x.shape[1], 2, 3).transpose(1, 2)


ALONE = ("steps", "joined", "convolution", "convolution with steps", "gathered")
"""Of these PyTorch says that they may need other sizes."""


def groups():
    """Names that are compiled together."""
    together = [name for name in ALL if name not in ALONE]
    return [together[i : i + 8] for i in range(0, len(together), 8)] + [[name] for name in ALONE]


class Group(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.names = names

    def forward(self, x, p, i, image):
        return {name.replace(" ", "_"): ALL[name](x, p, i, image) for name in self.names}


def batch(rows, length):
    generator = torch.Generator().manual_seed(100 * rows + length)
    x = torch.randn(rows, length, 6, generator=generator)
    p = torch.rand(rows, length, 6, generator=generator) * 2 + 0.1
    i = torch.randint(-7, 7, (rows, length), generator=generator)
    return {"x": x, "p": p, "i": i, "image": torch.randn(rows, 4, 10, 8, generator=generator)}


@functools.lru_cache(maxsize=None)
def results_of(group):
    """What a plan and PyTorch give at three sizes; an Error is kept, so that it is made once."""
    module, sample = Group(groups()[group]), batch(3, 7)
    dims = {name: {0: "B", 1: "T"} for name in ("x", "p", "i")}
    try:
        plan = smelt.torch.compile_module(
            module, sample, dynamic_shapes={**dims, "image": {0: "B"}}, max={"B": 6, "T": 40}
        )
    except smelt.Error as problem:
        return problem
    session = plan.session()
    return [(session.run(**batch(*size)), module(**batch(*size))) for size in ((2, 33), (5, 8), (2, 5))]


def masks_of_integers(x):
    ones, some = torch.full(x.shape, 1), (x > 0).long()
    return (((ones & some) | (x > 1)) ^ (some & 1)).float() + (x < 0).int().bitwise_or(some)


def written_after_check(x, p):
    """As models of texts with images check that there are as many places as there are features."""
    mask = p > 1
    torch._check_tensor_all(mask.sum() <= p.numel())
    return x.masked_scatter(mask, p)


def pairs(name):
    """The result and what it should be, at each size."""
    results = results_of(next(i for i, names in enumerate(groups()) if name in names))
    if isinstance(results, smelt.Error):
        pytest.fail(str(results))
    key = name.replace(" ", "_")
    return [(found[key], expected[key]) for found, expected in results]


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name):
    for found, expected in pairs(name):
        assert found.shape == expected.shape
        assert relative(found, expected.float()) <= 3e-6


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    for found, expected in pairs(name):
        assert torch.equal(found.long(), expected.long())
