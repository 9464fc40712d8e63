"""Tensors that are given to a session: what does not fit is an error that says what to do."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import torch
from torch.utils.dlpack import to_dlpack

from ..arrays import in_order
from ..errors import Error

DEFAULT_STREAM = 1
"""The driver's handle of the default stream, with which a run is then ordered also where no tensor is on the GPU."""
CHECKED_ON_THE_HOST = (torch.int32, torch.int64)


def checked_inputs(
    inputs: Mapping[str, Any], dtypes: Mapping[str, torch.dtype], device: torch.device
) -> dict[str, Any]:
    """The inputs where they are, but for integers on a GPU, which a session looks at before it runs: they come to the
    host. Arrays of other libraries pass, and the session looks at them."""
    return {
        name: value if _fits(value, dtypes.get(name), device) else _checked(name, value, dtypes.get(name), device)
        for name, value in inputs.items()
    }


def with_plan_types(inputs: Mapping[str, Any], types: Mapping[str, torch.dtype]) -> Mapping[str, Any]:
    """Inputs of int16, which plans have no type for, as int32."""
    short = [name for name, dtype in types.items() if dtype == torch.int16]
    taken = {n: inputs[n].int() for n in short if getattr(inputs.get(n), "dtype", None) == torch.int16}
    return {**inputs, **taken} if taken else inputs


def _fits(value: Any, dtype: Optional[torch.dtype], device: torch.device) -> bool:
    """Whether nothing is to be said or done, which is the usual case: a small call takes a few microseconds."""
    return (
        isinstance(value, torch.Tensor)
        and value.dtype == dtype
        and value.layout == torch.strided
        and value.is_contiguous()
        and (value.is_cpu or (value.device == device and dtype not in CHECKED_ON_THE_HOST))
        and not value.is_nested
    )


def _checked(name: str, value: Any, dtype: Optional[torch.dtype], device: torch.device) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    value = plain(f"input '{name}'", value)
    if dtype is not None and value.dtype != dtype:
        short = str(dtype).removeprefix("torch.")
        raise Error(f"input '{name}' is {value.dtype}, expected {dtype}: give {name}.to(torch.{short})")
    if not value.is_contiguous():
        raise Error(
            f"input '{name}' of shape {tuple(value.shape)} has strides {value.stride()}; nothing is copied unasked: "
            f"give {name}.contiguous()"
        )
    return placed(f"input '{name}'", value, device)


def plain(what: str, tensor: torch.Tensor) -> torch.Tensor:
    """Which has its elements in memory, one after the other."""
    if tensor.layout != torch.strided or tensor.is_nested:
        kind = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
        raise Error(f"{what} is a tensor of layout {kind}, expected a dense one: call .to_dense() on it")
    return tensor


def placed(what: str, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor of the host or of the session's GPU, integers of the host: they are checked before they are used."""
    if tensor.device.type == "cpu":
        return tensor
    if device.type == "cpu":
        raise Error(f"{what} is on {tensor.device}, and the session is on the CPU: call .cpu() on it, or compile with "
                    "target='native' on a machine with a GPU")
    if tensor.device != device:
        raise Error(f"{what} is on {tensor.device}, and the session is on {device}: call .to('{device}') on it")
    return tensor.cpu() if tensor.dtype in CHECKED_ON_THE_HOST else tensor


def exchanged(arrays: Mapping[str, Any], stream: int) -> dict[str, Any]:
    """Arrays as a session takes them. Tensors are in the order of the current stream, which is `stream`, and need no
    more than C knows of them: the protocol in Python takes longer than all other work of a small call."""
    tensors = {name: _capsule(name, a) for name, a in arrays.items() if isinstance(a, torch.Tensor)}
    if len(tensors) == len(arrays):
        return tensors
    return {**in_order({n: a for n, a in arrays.items() if n not in tensors}, stream), **tensors}


def _capsule(name: str, tensor: torch.Tensor) -> Any:
    try:
        return to_dlpack(tensor)
    except Exception as problem:  # such as of a tensor without memory
        raise Error(f"'{name}': a {type(tensor).__name__} on {tensor.device} that cannot be read: {problem}") from None


def device_of(tensors: Any) -> torch.device:
    """The GPU of the first tensor that is on one, else the CPU."""
    return next((t.device for t in tensors if t.device.type == "cuda"), torch.device("cpu"))


def device_for(target: str, asked: Optional[str], home: torch.device) -> torch.device:
    """Where a session of a plan is: where it was asked for, else where the module is, else on PyTorch's current GPU."""
    if not target.startswith("sm_"):
        return _device(asked or "cpu")
    chosen = _device(asked) if asked else home if home.type == "cuda" else torch.device("cuda")
    if chosen.type != "cuda" or chosen.index is not None:
        return chosen
    return torch.device("cuda", torch.cuda.current_device() if torch.cuda.is_available() else 0)


def check_outputs(outputs: Any, device: torch.device) -> None:
    """Memory for outputs; types and shapes are the session's to check."""
    if not isinstance(outputs, Mapping) or not all(isinstance(name, str) for name in outputs):
        raise Error(f"out: {type(outputs).__name__}, expected a mapping of names of outputs to tensors")
    for name, tensor in outputs.items():
        if isinstance(tensor, torch.Tensor) and tensor.device.type != "cpu":
            placed(f"output '{name}'", tensor, device)


def _device(name: str) -> torch.device:
    try:
        return torch.device(name)
    except RuntimeError:
        raise Error(f"device {name!r}: expected 'cpu', 'cuda' or 'cuda:N'") from None


_handle_of_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
"""What PyTorch's own generated code asks; the public way makes two objects for each call."""


def current_stream(device: torch.device) -> int:
    """The handle of PyTorch's current stream; 0 of the CPU, which has none."""
    if device.type == "cpu":
        return 0
    if _handle_of_stream is not None and device.index is not None:
        return _handle_of_stream(device.index) or DEFAULT_STREAM
    return torch.cuda.current_stream(device).cuda_stream or DEFAULT_STREAM


def for_weights(tensor: Any) -> Any:
    """A tensor that is copied into a session's memory, which has floats of 32 bits."""
    if not isinstance(tensor, torch.Tensor):
        return tensor
    if tensor.is_meta:
        raise Error("a weight is on meta, and has no numbers: give a state_dict of a module that is on a device")
    tensor = plain("a weight", tensor).detach()
    return (tensor.float() if tensor.is_floating_point() else tensor).cpu().contiguous()
