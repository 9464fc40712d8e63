"""Random weights of which none is 0, so that every part of a model counts."""

from __future__ import annotations

import math

import torch


def randomize(model: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    """Matrices of variance 1 / (number of inputs), vectors (biases, norms) moved by 0.1, statistics of batch norms, too."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad and parameter.is_floating_point():
                _fill(parameter, generator)
        for part in model.modules():
            if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_var is not None:
                part.running_mean.copy_(0.1 * torch.randn(part.running_mean.shape, generator=generator))
                part.running_var.copy_(0.5 + torch.rand(part.running_var.shape, generator=generator))
    return model


def _fill(parameter: torch.Tensor, generator: torch.Generator) -> None:
    noise = torch.randn(parameter.shape, generator=generator)
    if parameter.dim() > 1:
        parameter.copy_(noise / math.sqrt(max(1, _inputs_of(parameter.shape))))
        return
    is_usable = bool(parameter.isfinite().all()) and float(parameter.abs().max() if parameter.numel() else 0) < 1e3
    parameter.copy_((parameter if is_usable else torch.zeros_like(parameter)) + 0.1 * noise)


def _inputs_of(shape: torch.Size) -> int:
    """How many numbers are summed for a result: those of a row; of a convolution, of a row of all channels' kernels."""
    is_convolution = len(shape) > 3 or (len(shape) == 3 and shape[-1] < 16)
    return math.prod(shape[1:]) if is_convolution else shape[-1]


def without_dropout(model: torch.nn.Module) -> torch.nn.Module:
    for part in model.modules():
        if isinstance(part, torch.nn.modules.dropout._DropoutNd):
            part.p = 0.0
    return model


def with_fixed_norms(model: torch.nn.Module) -> torch.nn.Module:
    """For training, with the statistics of batch norms as they are, since plans do not update them."""
    model.train()
    for part in model.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.eval()
    return model
