"""Plans of modules at work: tensors go in and come out, weights under the names of the module's state_dict."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import torch

from ..errors import Error
from ..plan import PathLike, Plan
from ..session import Session, StepResult
from .arrays import checked_inputs, for_weights
from .conditions import check_sizes
from .program import Program


class ModulePlan(Plan):
    """A plan, and the module whose weights its sessions begin with."""

    def __init__(self, plan: Plan, module: torch.nn.Module, program: Program, wide_ids: bool, lr: Optional[float]) -> None:
        super().__init__(plan._native)
        self.module = module
        self.program = program
        self.wide_ids = wide_ids
        self.lr = lr

    @property
    def path(self) -> str:
        """The class of the module."""
        return type(self.module).__name__

    def session(self, weights: Optional[PathLike] = None, **options: Any) -> "ModuleSession":
        """Memory to run the plan with. It begins with the weights that the module has now, or with those of a
        safetensors file; the other options are those of smelt.Plan.session."""
        if options.pop("from_scratch", False):
            raise Error("a plan of a module has no initial values of its own: its sessions begin with the module's weights")
        session = ModuleSession(self, super().session(from_scratch=True, **options)._native)
        return session.load_state_dict(self.module.state_dict() if weights is None else _read(weights), strict=False)


def _read(path: PathLike) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(path)


def _has_dim(array: Any, axis: int) -> bool:
    return axis < len(getattr(array, "shape", ()))


class ModuleSession(Session):
    """A Session whose arrays are torch's."""

    _plan: ModulePlan

    def run(
        self, entry: Optional[str] = None, /, *, out: Optional[Mapping[str, Any]] = None, **inputs: Any
    ) -> dict[str, Any]:
        """Runs the module's forward and returns its outputs by name, as tensors."""
        given = self._checked(inputs)
        if out is not None:
            return super().run(entry, out=out, **given)
        return {name: torch.from_dlpack(t) for name, t in super().run(entry, **given).items()}

    def step(self, *, lr: Optional[float] = None, **inputs: Any) -> StepResult:
        """One update of the weights on one batch. The first rate is the optimiser's where none is given."""
        return super().step(lr=self._rate(lr), **self._checked(inputs))

    def accumulate(self, **inputs: Any) -> None:
        super().accumulate(**self._checked(inputs))

    def apply(self, *, lr: Optional[float] = None) -> StepResult:
        return super().apply(lr=self._rate(lr))

    def _rate(self, lr: Optional[float]) -> Optional[float]:
        return self._plan.lr if lr is None and self.updates == 0 else lr

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        program = self._plan.program
        if program.conditions:
            given = {n: inputs[i].shape[axis] for n, (i, axis) in program.places.items() if _has_dim(inputs.get(i), axis)}
            check_sizes(program.conditions, given)
        return checked_inputs(inputs, program.inputs, self._plan.wide_ids)

    # ---- weights

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> "ModuleSession":
        """Copies a state_dict of the module into the session. Of tied parameters one name suffices; what the plan does
        not read is passed over."""
        program = self._plan.program
        values = {name: for_weights(program.parameters[name]) for name in program.constants}
        for name, tensor in state_dict.items():
            if name in program.aliases:
                values.setdefault(program.aliases[name], for_weights(tensor))
            elif name in program.constants:
                values[name] = for_weights(tensor)
        unknown = sorted(set(state_dict) - set(self._plan.module.state_dict()) - program.constants)
        if strict and unknown:
            raise Error(f"the module has no {', '.join(unknown)}")
        self._native.load_state_dict(values, True)
        return self

    def state_dict(self) -> dict[str, torch.Tensor]:
        """A copy of the weights under all names of the module's state_dict, for its load_state_dict."""
        held = {name: torch.from_dlpack(t) for name, t in self._native.state_dict().items()}
        aliases, module = self._plan.program.aliases, self._plan.module.state_dict()
        return {name: held[aliases[name]].to(t.dtype) if name in aliases else t for name, t in module.items()}

    def copy_to(self, module: torch.nn.Module) -> torch.nn.Module:
        """Copies the weights into a module of the same kind."""
        module.load_state_dict(self.state_dict())
        return module
