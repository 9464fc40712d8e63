"""Plans of modules at work: tensors go in and come out, weights under the names of the module's state_dict."""

from __future__ import annotations

from contextlib import nullcontext
from functools import lru_cache
from typing import Any, Mapping, Optional, Union

import torch

from ..errors import Error
from ..plan import PathLike, Plan
from ..session import Session, StepResult
from .arrays import (
    check_outputs,
    checked_inputs,
    current_stream,
    device_for,
    device_of,
    exchanged,
    for_weights,
    with_plan_types,
)
from .attach import attach, detach
from .conditions import check_sizes
from .dtypes import dtype_of_input
from .outputs import Runner
from .program import Program


class ModulePlan(Plan):
    """A plan, and the module whose weights its sessions begin with."""

    def __init__(
        self, plan: Plan, module: torch.nn.Module, program: Program, wide_ids: bool, lr: Optional[float]
    ) -> None:
        super().__init__(plan._native)
        self.module = module
        self.program = program
        self.wide_ids = wide_ids
        self.lr = lr

    def __reduce__(self) -> Any:
        raise TypeError(
            "a plan of a module belongs to the module's tensors and is not pickled: compile the module again where the "
            "plan is needed (the cache directory keeps plans), or give smelt.load what plan.save(path) wrote"
        )

    @property
    def path(self) -> str:
        """The class of the module."""
        return type(self.module).__name__

    def session(self, weights: Union[PathLike, Mapping[str, Any], None] = None, **options: Any) -> "ModuleSession":
        """Memory to run the plan with. It begins with the weights that the module has now, or with those of a
        safetensors file or of a state_dict. Buffers that forward changes, such as the running moments of a batch norm
        or a cache, begin so, too, and each run finds what the run before it left in them. The other options are those of smelt.Plan.session. Of a plan for GPUs it is by default on the
        GPU where the module is, else on PyTorch's current one."""
        if options.pop("from_scratch", False):
            raise Error(
                "a plan of a module has no initial values of its own: its sessions begin with the module's weights"
            )
        device = device_for(self.target, options.pop("device", None), device_of(self.module.parameters()))
        session = ModuleSession(self, super().session(from_scratch=True, device=str(device), **options)._native, device)
        session._write_states(self.program.states)
        return session.load_state_dict(self._weights(weights), strict=False)

    def _weights(self, given: Union[PathLike, Mapping[str, Any], None]) -> Mapping[str, Any]:
        if given is None:
            return self.module.state_dict()
        return given if isinstance(given, Mapping) else _read(given)


def _read(path: PathLike) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise Error(f"weights {path}: no safetensors file that can be read: {error}", "invalid_file") from error


def _add_tensors(path: PathLike, tensors: Mapping[str, torch.Tensor]) -> None:
    from safetensors.torch import save_file

    held = _read(path)
    try:
        save_file({**held, **tensors}, path)
    except OSError as error:
        raise Error(f"weights {path}: {error}; expected a file that can be written", "io") from error


def _check_buffer(name: str, given: Any, kept: torch.Tensor) -> None:
    if not isinstance(given, torch.Tensor) or given.shape != kept.shape:
        found = list(given.shape) if isinstance(given, torch.Tensor) else f"a {type(given).__name__}"
        raise Error(f"buffer '{name}': given {found}, expected a tensor of {list(kept.shape)}")
    if given.is_floating_point() != kept.is_floating_point():
        raise Error(f"buffer '{name}': given {given.dtype}, expected {kept.dtype}")
    if given.is_floating_point() and bool(given.isnan().any()):
        raise Error(f"buffer '{name}' has NaN")


def _has_dim(array: Any, axis: int) -> bool:
    return axis < len(getattr(array, "shape", ()))


class ModuleSession(Session):
    """A Session whose arrays are torch's: of the host, or of the session's GPU, on PyTorch's current stream."""

    _plan: ModulePlan

    def __init__(self, plan: ModulePlan, native: Any, device: torch.device) -> None:
        super().__init__(plan, native)
        self.device = device
        self._runner = Runner(native, device, plan.program.output_types)
        self._dtypes = {n: dtype_of_input(dtype, plan.wide_ids) for n, dtype in plan.program.inputs.items()}
        # Sizes that pass are remembered: looking at the conditions takes long.
        self._check_sizes = lru_cache(maxsize=1024)(lambda sizes: check_sizes(plan.program.conditions, dict(sizes)))
        self._attached = False

    def run(
        self, entry: Optional[str] = None, /, *, out: Optional[Mapping[str, Any]] = None, **inputs: Any
    ) -> dict[str, Any]:
        """Runs the module's forward and returns its outputs by name, as tensors on the session's device."""
        given, name = self._checked(inputs), self._entry(entry)
        if out is not None:
            check_outputs(out, self.device)
        if out is None:
            return self._runner.run(name, given)
        stream = current_stream(self.device)
        self._native.run_into(name, exchanged(given, stream), exchanged(out, stream), stream)
        return dict(out)

    def step(self, *, lr: Optional[float] = None, **inputs: Any) -> StepResult:
        """One update of the weights on one batch. The first rate is the optimiser's where none is given."""
        return super().step(lr=self._rate(lr), **self._checked(inputs))

    def accumulate(self, **inputs: Any) -> None:
        super().accumulate(**self._checked(inputs))

    def apply(self, *, lr: Optional[float] = None) -> StepResult:
        return super().apply(lr=self._rate(lr))

    def _train(self, entry: str, inputs: Mapping[str, Any], rate: Optional[float]) -> dict[str, Any]:
        stream = current_stream(self.device)
        return self._run_training(entry, exchanged(inputs, stream), rate, stream)

    def _rate(self, lr: Optional[float]) -> Optional[float]:
        return self._plan.lr if lr is None and self.updates == 0 else lr

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        program = self._plan.program
        if program.conditions:
            places = program.places.items()
            given = {n: inputs[i].shape[axis] for n, (i, axis) in places if _has_dim(inputs.get(i), axis)}
            self._check_sizes(tuple(given.items()))
        return checked_inputs(with_plan_types(inputs, program.inputs), self._dtypes, self.device)

    # ---- weights

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> "ModuleSession":
        """Copies a state_dict of the module into the session. Of tied parameters one name suffices; what the plan does
        not read is passed over."""
        if not isinstance(state_dict, Mapping) or not all(isinstance(name, str) for name in state_dict):
            raise Error("state_dict: expected a mapping of names to tensors, such as model.state_dict()")
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
        kept = self._plan.module.state_dict()
        missing = sorted(name for name in program.states if name in kept and name not in state_dict)
        if missing:
            raise Error(f"the state_dict has no {', '.join(missing)}, which forward changes")
        states = {name: state_dict[name] for name in program.states if name in state_dict}
        for name, tensor in states.items():
            _check_buffer(name, tensor, program.states[name])
        self._native.load_state_dict(values, True)
        self._write_states(states)
        self._agree()
        return self

    def attach(self, module: Optional[torch.nn.Module] = None) -> "ModuleSession":
        """Makes the session's memory that of the module's parameters, and of those of its buffers that the plan reads:
        `step` trains the module in place, and what the module's own code does it does with the session's weights.

        The module is by default the plan's. Its parameters are float32, on the session's device. They have the
        session's values from now on; optimisers and tied parameters stay valid, as parameters stay the same objects.
        Memory lives as long as any of them. What is written to them the next run finds, where the plan keeps no
        rounded copies of weights (precision="fp32"); else give load_state_dict what was written.
        """
        attach(self, self._plan.module if module is None else module)
        self._attached = True
        return self

    def detach(self, module: Optional[torch.nn.Module] = None) -> "ModuleSession":
        """Gives an attached module memory of its own again, with the values of now."""
        detach(self, self._plan.module if module is None else module)
        return self

    def views(self) -> dict[str, torch.Tensor]:
        """The weights as tensors over the session's own memory, under the names of the plan."""
        with torch.cuda.device(self.device) if self.device.type == "cuda" else nullcontext():
            return {name: torch.from_dlpack(view) for name, view in self._native.weight_views()}

    def _agree(self) -> None:
        """Of an attached session on a GPU neither the host nor the GPU has what the other one lacks."""
        if self._attached and self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()
            self._native.weight_views()

    def _write_states(self, tensors: Mapping[str, torch.Tensor]) -> None:
        kept = self._plan.program.states
        if tensors:
            self._native.write_states({n: t.detach().to("cpu", kept[n].dtype).contiguous() for n, t in tensors.items()})

    def _states(self) -> dict[str, torch.Tensor]:
        """Copies of the buffers that forward changes."""
        kept = self._plan.program.states
        read = self._native.read_states(list(kept)) if kept else {}
        return {name: torch.from_dlpack(t).to(kept[name].dtype) for name, t in read.items()}

    def share(self) -> "ModuleSession":
        """A session on the same weights, with memory of its own: buffers that forward changes begin as they are here."""
        shared = ModuleSession(self._plan, self._native.share(), self.device)
        shared._write_states(self._states())
        return shared

    def save_weights(self, path: PathLike) -> None:
        """Writes the weights to a safetensors file, and the buffers that forward changes."""
        self._agree()
        super().save_weights(path)
        if self._plan.program.states:
            _add_tensors(path, self._states())

    def state_dict(self) -> dict[str, torch.Tensor]:
        """A copy of the weights in the host's memory under all names of the module's state_dict, for its
        load_state_dict. They are the point at which the next update begins: of plans with an `ema` or of schedule-free
        rules, evaluations and save_weights have the mean in its place."""
        self._agree()
        held = {name: torch.from_dlpack(t) for name, t in self._native.state_dict().items()}
        aliases, module = self._plan.program.aliases, self._plan.module.state_dict()
        module = {**module, **{name: t for name, t in self._states().items() if name in module}}
        return {name: held[aliases[name]].to(t.dtype) if name in aliases else t for name, t in module.items()}

    def copy_to(self, module: torch.nn.Module) -> torch.nn.Module:
        """Copies what state_dict returns into a module of the same kind."""
        module.load_state_dict(self.state_dict())
        return module
