"""Plans at work: runs, updates and weights."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Union

from . import _native
from .arrays import as_ids, in_order, is_on_gpu, stream_handle
from .checks import json_text, named, whole
from .errors import Error
from .optimizers import checked_rate
from .progress import Progress

if TYPE_CHECKING:
    from .plan import Plan


_OPTIMIZER = "optimizer."
_UPDATES = "optimizer.updates"


class StepResult:
    """What an update reports; numbers are read when they are asked for."""

    def __init__(self, outputs: dict[str, _native.Tensor]) -> None:
        self.outputs = outputs

    def _number(self, name: str) -> Optional[float]:
        return float(self.outputs[name]) if name in self.outputs else None

    @property
    def loss(self) -> float:
        """The mean over all targets."""
        return float(self.outputs["loss"])

    @property
    def gradient_norm(self) -> Optional[float]:
        """Of all gradients together; None where the plan does not compute it (compile with clip)."""
        return self._number("gradient_norm")

    @property
    def loss_scale(self) -> Optional[float]:
        """In fp16."""
        return self._number("loss_scale")

    @property
    def skipped_steps(self) -> Optional[float]:
        """How many updates were left out so far, as their gradients overflowed in fp16."""
        return self._number("skipped_steps")

    def __repr__(self) -> str:
        norm = self.gradient_norm
        return f"<smelt.StepResult loss={self.loss:.6g}" + (f" gradient_norm={norm:.6g}>" if norm is not None else ">")


class Session:
    """Memory and weights that a plan runs with. Calls from several threads run one after the other.

    Inputs are arrays: anything with __dlpack__ or Python's buffer protocol, dense, of the type that the plan has. They
    are read where they lie. An array that does not fit is a smelt.Error: nothing is copied or converted unasked.
    Sessions on a GPU take arrays of that GPU, too, but for token ids, which are checked on the host.
    """

    def __init__(self, plan: Plan, native: _native.Session) -> None:
        self._plan = plan
        self._native = native
        self.updates = 0
        """How many updates were made: the step of the next one's random numbers."""
        self._micro_steps = 0
        self._usual_entry: Optional[str] = None

    def __reduce__(self) -> Any:
        raise TypeError(
            "a smelt.Session is memory that a plan runs in, and is neither pickled nor copied: make another one with "
            "plan.session(), and give it session.state_dict()"
        )

    @property
    def plan(self) -> Plan:
        return self._plan

    @property
    def weights(self) -> str:
        """Where its weights are from."""
        return self._native.weights

    def run(
        self,
        entry: Optional[str] = None,
        /,
        *,
        out: Optional[Mapping[str, Any]] = None,
        stream: Any = None,
        on_device: bool = False,
        **inputs: Any,
    ) -> dict[str, Any]:
        """Runs an entry (by default the only one, or "logits") and returns its outputs by name.

        With `out` those outputs that it names are written to its arrays, which must have their types and shapes, and
        the others are left out. With on_device outputs stay on the session's GPU, as smelt.DeviceTensor; of a plan for
        CPUs they are the host's as ever.

        stream: of the GPU (a handle, or a stream of PyTorch, CuPy or cuda.core), by default PyTorch's current one
        where a tensor of PyTorch on a GPU is given, else the default stream. The run begins behind what it was given
        before, and what it is given behind the call finds the outputs. The call waits where an output is the host's.
        """
        name = self._entry(entry)
        if out is not None:
            named("out", out)
        handle = stream_handle(stream, (*inputs.values(), *(out or {}).values()))
        ready = in_order(inputs, handle)
        if out is None:
            run = self._native.run_to_device if on_device else self._native.run
            return run(name, ready, handle)
        self._native.run_into(name, ready, in_order(out, handle), handle)
        return dict(out)

    def step(self, *, lr: Optional[float] = None, **inputs: Any) -> StepResult:
        """One update of the weights on one batch. `lr` stays what it is where it is not given."""
        outputs = self._train("train_step", inputs, lr)
        self.updates += 1
        return StepResult(outputs)

    def accumulate(self, **inputs: Any) -> None:
        """Adds the gradients of one batch to those of the next update, which `apply` makes."""
        self._train("accumulate", inputs, None)
        self._micro_steps += 1

    def apply(self, *, lr: Optional[float] = None) -> StepResult:
        """The update by the gradients of all batches since the last one."""
        outputs = self._train("apply", {}, lr)
        self.updates += 1
        self._micro_steps = 0
        return StepResult(outputs)

    def _train(self, entry: str, inputs: Mapping[str, Any], rate: Optional[float]) -> dict[str, Any]:
        return self._run_training(entry, in_order(inputs, 0), rate, 0)

    def _run_training(self, entry: str, ready: dict[str, Any], rate: Optional[float], stream: int) -> dict[str, Any]:
        micro_step = self._micro_steps if entry == "accumulate" else 0
        step = self.updates
        rate = checked_rate(rate)
        return self._native.train(entry, ready, rate=rate, step=step, micro_step=micro_step, stream=stream)

    def generate(
        self,
        ids: Any,
        *,
        attention_mask: Any = None,
        on_token: Optional[Callable[[int, int], Optional[bool]]] = None,
        **options: Any,
    ) -> list[list[int]]:
        """Continues prompts (or translates sources): the new tokens of each, an end token included.

        ids: rows of an array of integers, or lists of numbers of any lengths. `attention_mask` has a 0 wherever a
        prompt has padding. The options are those of generation_config.json, whose values they replace:
        max_new_tokens, do_sample, temperature, top_k, top_p, num_beams, num_return_sequences, eos_token_id, ...;
        also seed, sliding_window and decoder_start_token_id.
        on_token(index, token) is called with each new token; where it returns False, generation ends.
        """
        if on_token is not None and not callable(on_token):
            raise Error(f"on_token: a {type(on_token).__name__}, expected a function of (index, token)")
        ids = ids if isinstance(ids, (list, tuple)) or is_on_gpu(ids) else as_ids(ids, "int64")
        return self._native.generate(ids, mask=attention_mask, options=json_text("options", options), on_token=on_token)

    def state_dict(self, *, optimizer: bool = False) -> dict[str, Any]:
        """A copy of every parameter, as f32, under its name and in its layout in checkpoints: the point at which the
        next update begins. Of plans with an `ema` or of schedule-free rules the mean is in what save_weights writes.

        With `optimizer` also what updates keep beside them, under names with "optimizer." in front and in the plan's
        own layout, and "optimizer.updates", their number: another session of the plan that loads all of it goes on to
        the same bits.
        """
        weights = self._native.state_dict()
        if not optimizer:
            return weights
        return {**weights, **self._native.optimizer_state(), _UPDATES: self.updates}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Session:
        """Copies arrays of any float type into the parameters, and returns this session.

        Where one is missing or has another shape, all of them are named in one smelt.Error and nothing is changed.
        Names that no parameter has are an Error, too, unless strict is False. What state_dict(optimizer=True) has
        beside the parameters is loaded after them where it is there, as a whole: an error in it leaves the optimizer's
        state as it was, behind parameters that have been replaced.
        """
        named("state_dict", state_dict)
        states = {name: array for name, array in state_dict.items() if name.startswith(_OPTIMIZER)}
        weights = {name: array for name, array in state_dict.items() if name not in states}
        updates = states.pop(_UPDATES, None)
        made = None if updates is None else whole(_UPDATES, updates, 0, 2**63)
        with Progress("loading weights"):
            self._native.load_state_dict(weights, strict)
            if states:
                self._native.load_optimizer_state(states)
        if made is not None:
            self.updates, self._micro_steps = made, 0
        return self

    def save_weights(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the weights to a safetensors file: what state_dict returns, or of plans with an `ema` or of
        schedule-free rules the mean."""
        self._native.save_weights(os.fspath(path))

    def share(self) -> Session:
        """A session with memory of its own on the same weights, which neither may change from now on."""
        return Session(self._plan, self._native.share())

    def _entry(self, entry: Optional[str]) -> str:
        if entry is not None and not isinstance(entry, str):
            raise Error(f"run: a {type(entry).__name__} where an entry's name is expected; inputs are given by name")
        if entry is not None:
            return entry
        if self._usual_entry is None:
            entries = self._plan.entries
            self._usual_entry = next(iter(entries)) if len(entries) == 1 else "logits"
        return self._usual_entry

    def __repr__(self) -> str:
        return f"<smelt.Session of {self._plan.path!r} for {self._plan.target}, weights: {self.weights}>"
