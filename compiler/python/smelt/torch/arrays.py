"""Tensors that are given to a session: what does not fit is an error that says what to do."""

from __future__ import annotations

from typing import Any, Mapping

import torch

from ..errors import Error
from .dtypes import dtype_of_input


def checked_inputs(inputs: Mapping[str, Any], expected: Mapping[str, torch.dtype], wide_ids: bool) -> dict[str, Any]:
    """The inputs as they are; arrays of other libraries pass, and the session looks at them."""
    return {name: _checked(name, value, expected.get(name), wide_ids) for name, value in inputs.items()}


def _checked(name: str, value: Any, dtype: Any, wide_ids: bool) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    require_host(f"input '{name}'", value)
    if dtype is not None and value.dtype != (wanted := dtype_of_input(dtype, wide_ids)):
        short = str(wanted).removeprefix("torch.")
        raise Error(f"input '{name}' is {value.dtype}, expected {wanted}: give {name}.to(torch.{short})")
    if not value.is_contiguous():
        raise Error(
            f"input '{name}' of shape {tuple(value.shape)} has strides {value.stride()}; nothing is copied unasked: "
            f"give {name}.contiguous()"
        )
    return value


def require_host(what: str, tensor: torch.Tensor) -> None:
    if tensor.device.type != "cpu":
        raise Error(f"{what} is on {tensor.device}; inputs lie in the memory of the host: call .cpu() on it")


def for_weights(tensor: Any) -> Any:
    """A tensor that is copied into a session's memory."""
    return tensor.detach().cpu().contiguous() if isinstance(tensor, torch.Tensor) else tensor
