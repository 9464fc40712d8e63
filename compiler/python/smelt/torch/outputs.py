"""Outputs of a run as tensors: on a GPU in memory of PyTorch's allocator, which knows when they are done with."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import torch

from .arrays import current_stream, exchanged

DTYPES = {
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "f64": torch.float64,
    "i32": torch.int32,
    "i64": torch.int64,
    "u16": torch.uint16,
    "u8": torch.uint8,
    "i8": torch.int8,
    "bool": torch.bool,
}
_KEPT = 1024
"""How many shapes of inputs are remembered."""


class Runner:
    """Runs one native session; the types and shapes of outputs are asked for once for each shape of the inputs."""

    def __init__(self, native: Any, device: torch.device, types: Mapping[str, torch.dtype] = {}) -> None:
        self.native = native
        self.device = device
        self.types = types
        """What PyTorch's tensors for the outputs are, where the plan may have none of that type."""
        self._shapes: dict[tuple, dict[str, tuple[str, list[int]]]] = {}

    def run(self, entry: str, inputs: Mapping[str, Any], step: Optional[int] = None) -> dict[str, torch.Tensor]:
        """All outputs. `step` is that of random numbers, None: that of the run before."""
        found = self._run(entry, inputs, step)
        for name, dtype in self.types.items():
            if name in found and found[name].dtype != dtype:
                found[name] = found[name].to(dtype)
        return found

    def _run(self, entry: str, inputs: Mapping[str, Any], step: Optional[int]) -> dict[str, torch.Tensor]:
        if self.device.type == "cpu":
            return self._run_on_host(entry, exchanged(inputs, 0), step)
        stream = current_stream(self.device)
        outputs = {
            name: torch.empty(shape, dtype=DTYPES[dtype], device=self.device)
            for name, (dtype, shape) in self._shapes_for(entry, inputs, stream).items()
        }
        self.native.run_into(entry, exchanged(inputs, stream), exchanged(outputs, stream), stream, step)
        return outputs

    def _run_on_host(self, entry: str, inputs: dict[str, Any], step: Optional[int]) -> dict[str, torch.Tensor]:
        if step is None:
            found = self.native.run(entry, inputs, 0)
        else:
            found = self.native.train(entry, inputs, rate=None, step=step, micro_step=0)
        return {name: torch.from_dlpack(t) for name, t in found.items()}

    def _shapes_for(self, entry: str, inputs: Mapping[str, Any], stream: int) -> dict[str, tuple[str, list[int]]]:
        key = (entry, *((name, *getattr(a, "shape", ())) for name, a in inputs.items()))
        if key not in self._shapes:
            if len(self._shapes) == _KEPT:
                self._shapes.clear()
            self._shapes[key] = self.native.output_shapes(entry, exchanged(inputs, stream))
        return self._shapes[key]
