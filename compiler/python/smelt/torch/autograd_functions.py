"""Functions with a backward of their own (torch.autograd.Function) in a module that is captured for training.

torch.export keeps only the forward of a function. While `stated_derivatives` is active, the outputs of a function pass
through the operation smelt::custom_vjp. Its operands are the outputs, one smelt::cotangent for each of them, the inputs
of the function, and the gradients that its backward computes from these cotangents. A function that asks for None in
place of the zeros of a result that is not used (set_materialize_grads) has gradients for each choice of used results, and
the row takes those of the results that the graph uses. The rows of aten/stated.py write
both as the operations of the same names (ir/graph/custom_vjp.h).
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional

import torch
from torch.autograd.function import BackwardCFunction, FunctionCtx, FunctionMeta, _SingleLevelFunction
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import CheckpointFunction

from ..errors import Error
from .process import replaced

_LIBRARY = torch.library.Library("smelt", "DEF")
_LIBRARY.define("cotangent(Tensor like, int id) -> Tensor")
_LIBRARY.define(
    "custom_vjp(Tensor[] values, Tensor[] cotangents, Tensor[] inputs, Tensor[] gradients, int[] choices) -> Tensor[]"
)
_LIBRARY.impl("cotangent", lambda like, id: torch.zeros_like(like), "CompositeExplicitAutograd")
_LIBRARY.impl("cotangent", lambda like, id: torch.empty_like(like), "Meta")
_LIBRARY.impl("custom_vjp", lambda values, *_: [x.clone() for x in values], "CompositeExplicitAutograd")
_LIBRARY.impl("custom_vjp", lambda values, *_: [torch.empty_like(x) for x in values], "Meta")

_state = threading.local()
_LOOKED_AT = ("forward", "setup_context")
"""What PyTorch's `apply` reads from a function's class."""


class _Unrecorded(TorchFunctionMode):
    """A mode in which changes of the gradient mode take effect and are not traced. Inside a function they do not change
    its derivative. PyTorch itself switches the mode off around a forward, so that a trace would never switch it on."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch._C._set_grad_enabled:
            return _set_grad_enabled(*args)
        return func(*args, **(kwargs or {}))


def _set_grad_enabled(enabled: bool) -> None:
    with torch._C.DisableTorchFunction():
        torch._C._set_grad_enabled(enabled)


@contextmanager
def _grad_mode(enabled: bool) -> Iterator[None]:
    """Sets the gradient mode for the body, without a trace of the change."""
    before = torch.is_grad_enabled()
    _set_grad_enabled(enabled)
    try:
        yield
    finally:
        _set_grad_enabled(before)


# ---- the attributes that PyTorch reads from a function's class


class _Attribute:
    """A descriptor of the metaclass of all functions, which takes precedence over the attribute of a class. PyTorch
    reads it at each call, so that an `apply` that was looked up before the capture finds it, too."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, cls: Any, meta: Any = None) -> Any:
        own = _own_attribute(cls, self.name)
        if not getattr(_state, "active", False) or _is_of_tracing(cls):
            return own
        return _traced_forward(cls) if self.name == "forward" else _SingleLevelFunction.__dict__[self.name].__func__

    def __set__(self, cls: Any, value: Any) -> None:
        type.__setattr__(cls, self.name, value)

    def __delete__(self, cls: Any) -> None:
        type.__delattr__(cls, self.name)


_TRACING = "torch._dynamo._trace_wrapped_higher_order_op"


def _is_of_tracing(cls: type) -> bool:
    """Whether PyTorch's tracing itself applies the function, such as the indexing of flex_attention, whose backward is
    the derivative of its forward."""
    return cls.__module__ == _TRACING


def _own_attribute(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name].__get__(None, cls)
    raise AttributeError(name)


@contextmanager
def stated_derivatives(module: torch.nn.Module) -> Iterator[None]:
    """Makes the functions that this thread applies state their derivatives. Errors name the parts of `module`."""
    for name in _LOOKED_AT:
        setattr(FunctionMeta, name, _Attribute(name))
    _state.names, _state.ids = {id(part): name for name, part in module.named_modules()}, itertools.count()
    _state.active = True
    try:
        yield
    finally:
        _state.active = False
        for name in _LOOKED_AT:
            delattr(FunctionMeta, name)


@contextmanager
def _inactive() -> Iterator[None]:
    """Applies functions as PyTorch does, and keeps the tensors that they save."""
    _state.active = False
    try:
        save = replaced(FunctionCtx, "save_for_backward", _save_for_backward)
        with save, replaced(FunctionCtx, "set_materialize_grads", _set_materialize_grads):
            yield
    finally:
        _state.active = True


def _save_for_backward(context: Any, *tensors: Any) -> None:
    context.to_save = context.smelt_saved = tensors


def _set_materialize_grads(context: Any, value: bool) -> None:
    context.materialize_grads = context.smelt_materializes = value


class _Context:
    """The context of a backward that is traced. PyTorch's own context returns copies of saved outputs, which the trace
    does not know."""

    def __init__(self, context: Any) -> None:
        self._smelt_context = context

    @property
    def saved_tensors(self) -> tuple:
        return tuple(getattr(self._smelt_context, "smelt_saved", ()))

    saved_variables = saved_tensors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._smelt_context, name)


# ---- a function


def _traced_forward(cls: type) -> Callable[..., Any]:
    def forward(outer: Any, *args: Any) -> Any:
        if cls is CheckpointFunction:
            return _checkpointed(outer, *args)
        with _Unrecorded(), _inactive():
            with _grad_mode(True):
                results = super(_SingleLevelFunction, cls).apply(*args)
            return _with_derivative(cls, outer, args, results)

    return forward


def _checkpointed(outer: Any, function: Callable[..., Any], _: Any, *args: Any) -> Any:
    """Runs the forward of reentrant checkpointing, whose backward is the derivative of the forward."""
    with _grad_mode(True):
        results = function(*args)
    outer.smelt_reaches = [x for x in _tuple(results) if isinstance(x, torch.Tensor) and x.requires_grad]
    if isinstance(results, torch.Tensor):
        return results.view_as(results)
    return tuple(x.view_as(x) if isinstance(x, torch.Tensor) else x for x in results)


def _with_derivative(cls: type, outer: Any, args: tuple, results: Any) -> Any:
    """Returns the results of the forward, those with a derivative as results of smelt::custom_vjp."""
    outputs = tuple(x.detach() if _is_constant(x) else x for x in _tuple(results))
    differentiable = [x for x in outputs if isinstance(x, torch.Tensor) and x.requires_grad]
    outer.mark_non_differentiable(*(x for x in outputs if isinstance(x, torch.Tensor) and not x.requires_grad))
    if not differentiable:
        outer.smelt_reaches = []
        return outputs if isinstance(results, (tuple, list)) else outputs[0]
    if any(x is a for x in differentiable for a in args):
        raise _refusal(cls, "it changes its argument in place (mark_dirty); return a new tensor")
    cotangents = [torch.ops.smelt.cotangent(x, next(_state.ids)) for x in differentiable]
    inputs, gradients, choices = _gradients(cls, differentiable[0].grad_fn, args, outputs, cotangents)
    outer.smelt_reaches = inputs
    made = iter(torch.ops.smelt.custom_vjp(differentiable, cotangents, inputs, gradients, choices))
    replaced = tuple(next(made) if any(x is d for d in differentiable) else x for x in outputs)
    return replaced if isinstance(results, (tuple, list)) else replaced[0]


def _is_constant(output: Any) -> bool:
    """Returns whether a result has no derivative, though it may depend on a value that has one."""
    return isinstance(output, torch.Tensor) and output.is_floating_point() and not output.requires_grad


def _gradients(
    cls: type, context: Any, args: tuple, outputs: tuple, cotangents: list[torch.Tensor]
) -> tuple[list[torch.Tensor], list[torch.Tensor], list[int]]:
    """Returns the inputs that have a gradient, the gradients of each choice of used results, and these choices; none
    where the gradients serve all of them."""
    materializes = getattr(context, "smelt_materializes", True)
    choices = _choices(cls, len(cotangents), materializes)
    by_choice = _backwards(cls, context, [_given(outputs, cotangents, used, materializes) for used in choices])
    choices = [used for used, g in zip(choices, by_choice) if g is not None]
    found = [g for g in by_choice if g is not None]
    places = [
        i
        for i, x in enumerate(args)
        if isinstance(x, torch.Tensor) and x.requires_grad and any(g[i] is not None for g in found)
    ]
    inputs = [args[i] for i in places]
    zeros = [torch.zeros_like(x) for x in inputs] if len(found) > 1 else inputs
    of_all = [_fitted(cls, x, z if g[i] is None else g[i]) for g in found for i, x, z in zip(places, inputs, zeros)]
    return inputs, of_all, [] if materializes or len(cotangents) == 1 else choices


def _choices(cls: type, results: int, materializes: bool) -> list[int]:
    """Returns which results may be used, as bits: for the backward they all are, if it receives zeros for the others."""
    if materializes or results == 1:
        return [(1 << results) - 1]
    if results > 4:
        raise _refusal(cls, f"set_materialize_grads(False) with {results} results; expected at most 4")
    return list(range(1, 1 << results))


def _given(outputs: tuple, cotangents: list[torch.Tensor], used: int, materializes: bool) -> list[Optional[torch.Tensor]]:
    """Returns what the backward receives for each result."""
    remaining = iter([x if used >> i & 1 else None for i, x in enumerate(cotangents)])

    def of(output: Any) -> Optional[torch.Tensor]:
        if not isinstance(output, torch.Tensor):
            return None
        return next(remaining) if output.requires_grad else torch.zeros_like(output) if materializes else None

    return [of(x) for x in outputs]


def _backwards(cls: type, context: Any, given: list[list[Optional[torch.Tensor]]]) -> list[Optional[tuple]]:
    """Returns what the backward returns for each choice; None where it does not take that one, unless it takes none."""
    found, problem = [], None
    for gradients in given:
        try:
            with _grad_mode(False):
                found.append(_tuple(BackwardCFunction.apply(_Context(context), *gradients)))
        except Exception as raised:
            problem = raised
            found.append(None)
    if problem is not None and not any(found):
        said = " ".join(str(problem).split())[:300]
        raise _refusal(cls, f"its backward cannot be traced ({type(problem).__name__}: {said})") from problem
    return found


def _fitted(cls: type, x: torch.Tensor, gradient: Any) -> torch.Tensor:
    """Sums a gradient to the shape of its input and converts it to the type of the input, as PyTorch does."""
    if not isinstance(gradient, torch.Tensor):
        raise _refusal(cls, f"its backward returns a {type(gradient).__name__}; expected tensors")
    if gradient.shape != x.shape:
        gradient = gradient.sum_to_size(x.shape)
    return gradient if gradient.dtype == x.dtype else gradient.to(x.dtype)


def _tuple(results: Any) -> tuple:
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


# ---- errors


def _refusal(cls: type, why: str) -> Error:
    name = "" if cls.__name__ == "ApplyTemplate" else f" '{cls.__qualname__}'"
    return Error(
        f"torch.autograd.Function{name}{_where()}: {why}. A plan for training takes a backward of tensor operations "
        "that depend on no numbers in tensors"
    )


def _where() -> str:
    """Names the innermost module whose code applies the function, and the line."""
    frame = sys._getframe()
    while frame is not None:
        first = frame.f_code.co_varnames[:1]
        module = frame.f_locals.get(first[0]) if first else None
        if isinstance(module, torch.nn.Module) and not frame.f_code.co_filename.startswith(_OF_PYTORCH):
            name = _state.names.get(id(module)) or type(module).__name__
            return f" in {name} ({frame.f_code.co_filename}:{frame.f_lineno})"
        frame = frame.f_back
    return ""


_OF_PYTORCH = os.path.dirname(torch.__file__)
