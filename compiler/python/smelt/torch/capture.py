"""torch.export of a module, with the operations that have rows kept whole and all others taken apart."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Mapping, Optional

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..errors import Error
from . import aten  # noqa: F401  (fills the table of rows)
from .dynamic_dims import DynamicDims, refined, rounds, with_bounds
from .registry import ROWS

OLDEST = (2, 6)
"""The first version of PyTorch whose export has what is needed."""

MOST_REFINEMENTS = 4
"""How often sizes are given again as PyTorch suggests."""
DEFER: tuple[dict[str, Any], dict[str, Any]] = ({}, {"prefer_deferred_runtime_asserts_over_guards": True})


@dataclass
class Captured:
    """An exported program and how its inputs and outputs are called."""

    program: torch.export.ExportedProgram
    inputs: list[str]
    """Of tensors, in order."""
    outputs: list[str]
    """In order, also of those that are no tensors."""
    symbols: dict[Any, str]
    """Names of PyTorch's symbols."""
    values: list[Any]
    """Of the outputs, as PyTorch describes them."""
    least: dict[str, int] = field(default_factory=dict)
    """Lower bounds that the caller has given, by the names of the sizes."""


def require_version() -> None:
    parts = torch.__version__.split("+")[0].split(".")
    if (int(parts[0]), int(parts[1])) < OLDEST:
        raise Error(
            f"PyTorch is {torch.__version__}; importing modules takes {OLDEST[0]}.{OLDEST[1]} or newer", "unavailable"
        )


def by_name(module: torch.nn.Module, sample: Any) -> dict[str, Any]:
    """The arguments of forward by name: a sample is a tensor, a tuple of arguments, or a mapping."""
    if isinstance(sample, Mapping):
        return dict(sample)
    arguments = tuple(sample) if isinstance(sample, (tuple, list)) else (sample,)
    try:
        return dict(inspect.signature(module.forward).bind(*arguments).arguments)
    except TypeError as problem:
        raise Error(f"the sample does not fit forward of {type(module).__name__}: {problem}") from None


def capture(
    module: torch.nn.Module,
    sample: Any,
    dynamic_shapes: Optional[Mapping[str, Any]],
    bounds: Mapping[str, int],
    training: bool,
) -> Captured:
    """The module's forward for these arguments. Their dims that dynamic_shapes names may be any up to the bounds."""
    require_version()
    arguments = _detached(_without_cache(module, by_name(module, sample)))
    _check_arguments(arguments)
    dims = DynamicDims(bounds)
    shapes = dims.specification(arguments, dynamic_shapes or {})
    with _plain_attention(), _configured_without_cache(module):
        with _mode(module, training), _plain_forward(module, arguments):
            program, shapes = _exported(module, arguments, shapes)
        program = taken_apart(program)
    names, symbols = _output_names(program), dims.symbols(program, arguments, shapes)
    return Captured(program, _leaf_names(arguments), names, symbols, _output_values(program), dims.least)


# ---- arguments


def _without_cache(module: torch.nn.Module, arguments: dict[str, Any]) -> dict[str, Any]:
    """A plan returns no cache of keys and values, so none is made where forward has a switch for it."""
    has_switch = "use_cache" in inspect.signature(module.forward).parameters
    return {**arguments, "use_cache": False} if has_switch and "use_cache" not in arguments else arguments


@contextmanager
def _configured_without_cache(module: torch.nn.Module) -> Iterator[None]:
    """The same for a forward whose switch is in the configuration alone."""
    found = {id(config): config for part in module.modules() if (config := getattr(part, "config", None)) is not None}
    caching = [config for config in found.values() if getattr(config, "use_cache", False) is True]
    for config in caching:
        config.use_cache = False
    try:
        yield
    finally:
        for config in caching:
            config.use_cache = True


def _detached(arguments: dict[str, Any]) -> dict[str, Any]:
    """Each tensor a copy: export takes two arguments that share memory for one."""
    return torch.utils._pytree.tree_map(
        lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x, arguments
    )


def _check_arguments(arguments: dict[str, Any]) -> None:
    for name, leaf in _leaves(arguments):
        if isinstance(leaf, torch.Tensor) and (leaf.is_nested or leaf.is_quantized):
            raise Error(f"input '{name}': a {'nested' if leaf.is_nested else 'quantized'} tensor; expected a plain one")
        if isinstance(leaf, torch.Tensor) and leaf.layout != torch.strided:
            raise Error(f"input '{name}': a tensor of layout {leaf.layout}; expected a dense one")
        if isinstance(leaf, torch.Tensor) and leaf.is_complex():
            raise Error(f"input '{name}': {leaf.dtype}, which Smelt does not have; give its real and imaginary parts")


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    """Leaves with names such as "images.0"."""
    found = torch.utils._pytree.tree_flatten_with_path(tree)[0]
    return [(".".join(_key(key) for key in path), leaf) for path, leaf in found]


def _key(key: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def _leaf_names(arguments: dict[str, Any]) -> list[str]:
    return [name for name, leaf in _leaves(arguments) if isinstance(leaf, torch.Tensor)]


def _output_values(program: torch.export.ExportedProgram) -> list[Any]:
    (output,) = (n for n in program.graph.nodes if n.op == "output")
    count = program.call_spec.out_spec.num_leaves
    return [x.meta.get("val") if isinstance(x, torch.fx.Node) else x for x in output.args[0][-count:]]


def _output_names(program: torch.export.ExportedProgram) -> list[str]:
    spec = program.call_spec.out_spec
    tree = torch.utils._pytree.tree_unflatten(range(spec.num_leaves), spec)
    names = [name for name, _ in sorted(_leaves(tree), key=lambda pair: pair[1])]
    return [_output_name(name) for name in names]


def _output_name(name: str) -> str:
    if not name:
        return "output"
    return f"output.{name}" if name[0].isdigit() else name


# ---- export


@contextmanager
def _mode(module: torch.nn.Module, training: bool) -> Iterator[None]:
    """In training or in evaluation for the while; each part is then as it was."""
    before = {part: part.training for part in module.modules()}
    if not training:
        module.eval()
    try:
        yield
    finally:
        for part, was in before.items():
            part.training = was


def _plain_attention() -> Any:
    """Attention is one operation of the program, whichever kernel PyTorch has for it. While it traces for a GPU, the
    choice of a kernel that needs rows of a multiple of 8 would make that a condition on the module's sizes; the one
    that is made of matmuls and a softmax has no conditions."""
    return sdpa_kernel(SDPBackend.MATH)


@contextmanager
def _plain_forward(module: torch.nn.Module, names: Iterable[str]) -> Iterator[None]:
    """For the while forward has these arguments and no `**kwargs`, whose sizes versions of PyTorch take in different
    forms, and returns containers of Python's with tensors in them; what else it returns, such as a cache of keys and
    values, is left out."""
    forward = module.forward

    @functools.wraps(forward)
    def plain(*args: Any, **kwargs: Any) -> Any:
        return _plain(forward(*args, **kwargs))

    plain.__signature__ = _signature(names)
    module.forward = plain
    try:
        yield
    finally:
        del module.forward


def _signature(names: Iterable[str]) -> inspect.Signature:
    try:
        return inspect.Signature([inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names])
    except (TypeError, ValueError) as problem:
        raise Error(f"the sample: {problem}; expected names of forward's arguments") from None


def _plain(output: Any) -> Any:
    if output is None or isinstance(output, (torch.Tensor, int, float, bool, torch.SymInt, torch.SymFloat)):
        return output
    if dataclasses.is_dataclass(output) and not isinstance(output, Mapping):
        output = {f.name: getattr(output, f.name) for f in dataclasses.fields(output)}
    if isinstance(output, Mapping):
        kept = {key: _plain(value) for key, value in output.items()}
        return {key: value for key, value in kept.items() if value is not None}
    if isinstance(output, (tuple, list)):
        return tuple(_plain(value) for value in output)
    return None


def _exported(module: torch.nn.Module, arguments: dict[str, Any], shapes: Any) -> tuple[Any, Any]:
    """The program, and the sizes with which it was exported: of some PyTorch says in what form it takes them. What it
    would not believe of the others, such as that T // 2 is not 1, is left to a check at run time."""
    asked, defer = shapes, False
    for attempt in range(MOST_REFINEMENTS + 1):
        try:
            options = DEFER[defer]
            return torch.export.export(module, (), arguments, dynamic_shapes=shapes, strict=False, **options), shapes
        except torch._dynamo.exc.UserError as problem:
            other = refined(str(problem), shapes)
            if (other is None and defer) or attempt == MOST_REFINEMENTS:
                raise _cannot(module, problem) from problem
            if other is None or (not defer and rounds(str(problem), other)):
                defer = True
            else:
                shapes = with_bounds(shapes, str(problem)) or other
        except Exception as problem:
            if defer or not isinstance(problem, AssertionError):
                raise _cannot(module, problem) from problem
            shapes, defer = asked, True  # PyTorch does not take a form of sizes that it has suggested


def _cannot(module: torch.nn.Module, problem: Exception) -> Error:
    return Error(f"{type(module).__name__} cannot be exported: {_reason(problem)}")


def _reason(problem: Exception) -> str:
    """What PyTorch says, in one paragraph, and for the usual cases what to do."""
    text = str(problem)
    if "Constraints violated" in text or "specializ" in text.lower():
        return (
            "its code takes a size for a constant or restricts it; leave that size out of dynamic_shapes, or give a "
            f"bound that fits. PyTorch says: {_first_lines(text)}"
        )
    if "data-dependent" in text or "GuardOnDataDependent" in type(problem).__name__:
        return (
            "what it does next depends on the numbers in a tensor (an `if`, a loop or an index in Python); a plan "
            f"does the same for all data. PyTorch says: {_first_lines(text)}"
        )
    said = _first_lines(text.split("The error above occurred when calling torch.export")[0])
    of_python = type(problem) in (KeyError, IndexError, AttributeError, AssertionError, NotImplementedError)
    return f"{type(problem).__name__}: {said}" if of_python or not said else said


def _first_lines(text: str, most: int = 600) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    short = " ".join(lines)
    return short if len(short) <= most else short[:most] + " ..."


_TABLE: dict = {}


def decompositions() -> dict:
    """PyTorch's own, without those of operations that have a row."""
    if not _TABLE:
        for operation, rule in torch.export.default_decompositions().items():
            if str(operation) not in ROWS:
                _TABLE[operation] = rule
    return _TABLE


def taken_apart(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    # What export would check of the arguments while it takes the program apart; a plan checks its sizes itself, and of
    # some arguments PyTorch writes the check wrong.
    program._example_inputs = None
    return program.run_decompositions(dict(decompositions()))
