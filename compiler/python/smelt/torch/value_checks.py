"""Functions of PyTorch that look at the numbers in a tensor: for the shapes of results, or to raise an error for some.

A plan does the same for all numbers, so such a function is taken without the look while a module is exported: the
numbers that it would refuse make its result NaN, or are outside of a table that they are looked up in.
"""

from __future__ import annotations

import math
from typing import Any, Union

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ..progress import check_limit


class ValueChecks(TorchFunctionMode):
    """Replaces these functions where they are called. At each call of a function of PyTorch it looks at the limit of time."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        check_limit()
        return _WITHOUT_LOOK.get(function, function)(*args, **(kwargs or {}))


def gaussian_nll_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    var: Union[torch.Tensor, float],
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> torch.Tensor:
    """(log v + (input - target)^2 / v) / 2 with v = max(var, eps), whose derivative by var is that by v, as PyTorch's;
    NaN where var is below 0."""
    if not isinstance(var, torch.Tensor):
        return functional.gaussian_nll_loss(input, target, var, full, eps, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    var = _fitting(var, input)
    kept = torch.where(var < eps, var + (eps - var).detach(), var)
    kept = torch.where(var < 0, math.nan, kept)
    loss = 0.5 * (torch.log(kept) + (input - target) ** 2 / kept)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss if reduction == "none" else getattr(loss, reduction)()


def _fitting(var: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    """The variances of all elements, or one for each row of one dim."""
    if var.shape == input.shape:
        return var
    if var.shape == input.shape[:-1]:
        return var.unsqueeze(-1)
    other = [b for a, b in zip(input.shape, var.shape) if a != b]
    if var.dim() != input.dim() or len(other) != 1 or other[0] != 1:
        raise ValueError(f"var is of shape {list(var.shape)}: expected {list(input.shape)}, or 1 along one dim")
    return var


def one_hot(tensor: torch.Tensor, num_classes: int = -1) -> torch.Tensor:
    """Classes outside of `num_classes` are an error of the look-up."""
    if num_classes < 0:
        return functional.one_hot(tensor, num_classes)
    classes = torch.arange(num_classes, device=tensor.device).index_select(0, tensor.reshape(-1))
    return functional.one_hot(classes.reshape(tensor.shape), num_classes)


_LIBRARY = torch.library.Library("smelt", "FRAGMENT")
_LIBRARY.define(
    "ctc_loss(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank, int reduction, "
    "bool zero_infinity) -> Tensor"
)
_LIBRARY.impl("ctc_loss", torch.ctc_loss, "CompositeExplicitAutograd")


def _shape_of_ctc_loss(log_probs: torch.Tensor, *options: Any) -> torch.Tensor:
    is_one = options[4] != 0 or log_probs.dim() == 2
    return log_probs.new_empty(() if is_one else (log_probs.shape[1],))


_LIBRARY.impl("ctc_loss", _shape_of_ctc_loss, "Meta")


def ctc_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Union[str, int] = "mean",
    zero_infinity: bool = False,
) -> torch.Tensor:
    """One operation, because PyTorch's own looks at the lengths to know its shapes. The empty sum links the result with
    log_probs in autograd's graph."""
    lengths = [x if isinstance(x, torch.Tensor) else torch.tensor(x) for x in (input_lengths, target_lengths)]
    number = {"none": 0, "mean": 1, "sum": 2}.get(reduction, reduction)
    loss = torch.ops.smelt.ctc_loss(log_probs, targets, *lengths, blank, number, zero_infinity)
    return loss + log_probs[:0].sum() if log_probs.requires_grad else loss


_WITHOUT_LOOK = {
    functional.gaussian_nll_loss: gaussian_nll_loss,
    functional.one_hot: one_hot,
    functional.ctc_loss: ctc_loss,
    torch.ctc_loss: ctc_loss,
}
