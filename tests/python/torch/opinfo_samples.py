"""PyTorch's own sample inputs of its operations (OpInfo), each as a module that Smelt can compile.

Needs the package expecttest, which torch.testing imports.
"""

from __future__ import annotations

import re
from typing import Any, Iterator, Optional

import torch
from torch import nn
from torch.testing._internal.common_methods_invocations import op_db

RANDOM = re.compile(
    r"^(rand.*|bernoulli|multinomial|normal.*|(new_)?empty.*|exponential|geometric|cauchy|log_normal|uniform"
    r"|svd_lowrank|pca_lowrank|nn\.functional\.(.*dropout.*|rrelu|fractional_max_pool.*))$"
)
"""Operations that draw random numbers, which are Smelt's own, or leave memory as it is."""


def operations(pattern: str = ".") -> dict[str, Any]:
    """The OpInfos whose name matches, by their full names, such as "linalg.norm.subgradients_at_zero"."""
    found = {_full_name(op): op for op in op_db}
    return {name: op for name, op in found.items() if re.search(pattern, name)}


def _full_name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def outside(op: Any) -> Optional[str]:
    """Why an operation is not examined; None for one that is."""
    if RANDOM.search(op.name):
        return "random numbers"
    if "sparse" in op.name:
        return "sparse tensors"
    if torch.float32 not in op.supported_dtypes("cpu"):
        return "has no samples in float32"
    return None


def samples_of(op: Any, count: int, gradients: bool, special: bool = False) -> list[Any]:
    """At most `count` samples, from all parts of the operation's list. `special` takes the longer list of reference
    inputs, with extreme and special values."""
    torch.manual_seed(0)
    make = op.reference_inputs if special else op.sample_inputs
    found = list(make("cpu", torch.float32, requires_grad=gradients))
    if len(found) <= count:
        return found
    return [found[i * len(found) // count] for i in range(count)]


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors of nested lists and tuples, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in tensors_in(v)] if isinstance(value, (list, tuple)) else []


class Case(nn.Module):
    """One sample as a module: forward(x0, x1, ...) has the sample's tensors in order, and all else is constant.

    With gradients, what wants one has a parameter of -0.0 added, which changes no number: its gradient is that of the tensor,
    and a step that it takes keeps all digits, however large the tensor's numbers are. The output `loss` is a weighed sum of
    all float results.
    """

    def __init__(self, op: Any, sample: Any, gradients: bool) -> None:
        super().__init__()
        self.op, self.sample, self.gradients = op, sample, gradients
        self.tensors = tensors_in([sample.input, list(sample.args), list(sample.kwargs.values())])
        if gradients:
            for i, t in enumerate(self.tensors):
                if t.requires_grad:
                    self.register_parameter(f"p{i}", nn.Parameter(torch.full_like(t.detach(), -0.0, memory_format=torch.contiguous_format)))

    def inputs(self) -> dict[str, torch.Tensor]:
        if not self.tensors:
            return {"x0": torch.zeros(1)}  # of an operation that reads none
        return {f"x{i}": t.detach().clone(memory_format=torch.contiguous_format) for i, t in enumerate(self.tensors)}

    def run(self, *given: torch.Tensor) -> dict[str, torch.Tensor]:
        shifts = [getattr(self, f"p{i}", None) for i in range(len(given))]
        values = iter([x if shift is None else x + shift for x, shift in zip(given, shifts)])
        results = [t for t in tensors_in(self._called(values)) if t.numel()]
        if not self.gradients:
            return {f"y{i}": t for i, t in enumerate(results)}
        floats = [t for t in results if t.is_floating_point()]
        return {"loss": sum((t * weights(t.shape).to(t.dtype)).sum() for t in floats)}

    def _called(self, values: Iterator[torch.Tensor]) -> Any:
        def put(v: Any) -> Any:
            if isinstance(v, torch.Tensor):
                return next(values)
            return type(v)(put(x) for x in v) if type(v) in (list, tuple) else v

        first, args = put(self.sample.input), [put(a) for a in self.sample.args]
        return self.op(first, *args, **{k: put(v) for k, v in self.sample.kwargs.items()})


def weights(shape: Any) -> torch.Tensor:
    """Different for each element, so that gradients are told apart."""
    count = torch.Size(shape).numel()
    return torch.linspace(0.5, 1.5, count).reshape(shape)


def case_of(op: Any, sample: Any, gradients: bool) -> Case:
    """The module with a forward that names its arguments, as torch.export wants it."""
    case = Case(op.op, sample, gradients)
    names = ", ".join(case.inputs())
    space: dict[str, Any] = {}
    exec(f"def forward(self, {names}): return self.run({names})", space)
    case.__class__ = type("Case", (Case,), {"forward": space["forward"]})
    return case


def in_float64(sample: Any) -> Any:
    """The sample with float32 tensors as float64."""

    def wide(v: Any) -> Any:
        if isinstance(v, torch.Tensor) and v.dtype == torch.float32:
            return v.detach().double().requires_grad_(v.requires_grad)
        return type(v)(map(wide, v)) if type(v) in (list, tuple) else v

    return type(sample)(wide(sample.input), args=tuple(map(wide, sample.args)),
                        kwargs={k: wide(v) for k, v in sample.kwargs.items()})


def unfit(tensors: list[torch.Tensor]) -> Optional[str]:
    """Why these tensors are outside of the exam."""
    for t in tensors:
        if t.is_complex():
            return "complex numbers"
        if t.dtype == torch.float64:
            return "float64"
        if t.layout != torch.strided or t.is_nested or t.is_quantized:
            return "tensors that are not dense"
        if t.numel() == 0:
            return "tensors without elements"
    return None


def left_open(op: Any, case: Case) -> Optional[str]:
    """Why PyTorch itself leaves open what this sample's result is."""
    if op.name in ("byte", "char", "short", "int", "long") and not all(bool(t.isfinite().all()) for t in case.tensors):
        return "numbers that an integer cannot have"
    if case.gradients and op.name == "digamma" and any(bool(((t < 0) & (t == t.floor())).any()) for t in case.tensors):
        return "a pole, where PyTorch's gradient is a rounding error"
    if case.gradients and op.name in ("index_copy", "put"):
        places = [t for t in case.tensors if t.dtype == torch.int64]
        if any(t.unique().numel() < t.numel() for t in places):
            return "equal indices, of which one write counts and PyTorch's gradient knows all"
    return None
