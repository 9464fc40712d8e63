"""torch.export of a module, with the operations that have rows kept whole and all others taken apart."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import logging
import operator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Mapping, Optional

import torch
from torch.export import _trace as export_trace
from torch.export.graph_signature import InputKind
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..errors import Error
from ..progress import begin_step, check_limit
from . import aten  # noqa: F401  (fills the table of rows)
from .autograd_functions import stated_derivatives
from .dynamic_dims import DynamicDims, refined, rounds, with_bounds
from .flex import one_block
from .gradients import (
    check_trainable,
    detached_gradients,
    no_hooks,
    reached_by,
    recorded_modes,
    stop_without_grad,
)
from .importer import CHECKS, NUMBERS
from .process import named_parts, one_at_a_time, replaced, same_state, unchanged
from .raising_checks import RaisingChecks
from .registry import COMPLEX_ROWS, ROWS, bound_arguments
from .selections import SelectedTargets
from .splits import Splits
from .value_checks import ValueChecks
from .whole_operations import kept_whole, of_any_number

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
    reached: list[set[str]] = field(default_factory=list)
    """The module's parameters that have a gradient where an output is differentiated, for each output; empty unless it
    was captured for training."""
    reached_inputs: list[set[str]] = field(default_factory=list)
    """The same of the inputs that require a gradient."""
    conditions: list[Any] = field(default_factory=list)
    """On PyTorch's symbols: that a size has as many parts as the sample's."""


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
    signature = inspect.signature(module.forward)
    try:
        given = dict(signature.bind(*arguments).arguments)
    except TypeError as problem:
        raise Error(f"the sample does not fit forward of {type(module).__name__}: {problem}") from None
    for name in given:
        if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            raise Error(
                f"forward of {type(module).__name__} takes *{name}, whose elements have no names for a plan's inputs: give "
                "a module whose forward names its arguments"
            )
    return given


def capture(
    module: torch.nn.Module,
    sample: Any,
    dynamic_shapes: Optional[Mapping[str, Any]],
    bounds: Mapping[str, int],
    training: bool,
    may_be_empty: bool = False,
) -> Captured:
    """The module's forward for these arguments. Their dims that dynamic_shapes names may be any up to the bounds, and
    where `may_be_empty` says so, 0 where their Dim has that minimum."""
    require_version()
    with one_at_a_time():
        begin_step("trace")
        return _captured(module, sample, dynamic_shapes, bounds, training, may_be_empty)


def _captured(
    module: torch.nn.Module,
    sample: Any,
    dynamic_shapes: Optional[Mapping[str, Any]],
    bounds: Mapping[str, int],
    training: bool,
    may_be_empty: bool,
) -> Captured:
    given = _without_cache(module, by_name(module, sample))
    _check_arguments(given)
    traced = _Traced(module, training)
    if training:
        check_trainable(module)
    with same_state(), recorded_modes() if training else nullcontext(), _plain_attention():
        arguments, dims = _detached(given, _home(module)), DynamicDims(bounds, may_be_empty)
        shapes = dims.specification(arguments, dynamic_shapes or {})
        with unchanged(module), one_block(), _configured_without_cache(module), _mode(module, training):
            with traced.plain_forward(arguments):
                (program, splits), shapes = _exported(module, arguments, shapes, training, defer=may_be_empty)
    names, symbols = _output_names(program), dims.symbols(program, arguments, shapes)
    values = _output_values(program)
    names_of_leaves = _leaf_names(arguments)
    reached = traced.reached, traced.reached_inputs
    return Captured(program, names_of_leaves, names, symbols, values, dims.least, *reached, splits.conditions)


def _with_gradient(program: torch.export.ExportedProgram) -> set[str]:
    """The names of the nodes of parameters and of inputs that require a gradient."""
    specs = program.graph_signature.input_specs
    given = torch.utils._pytree.tree_leaves(program.example_inputs)
    wanted = {s.arg.name for s in specs if s.kind == InputKind.PARAMETER}
    inputs = [s.arg.name for s in specs if s.kind == InputKind.USER_INPUT]
    return wanted | {n for n, x in zip(inputs, given) if isinstance(x, torch.Tensor) and x.requires_grad}


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


def _home(module: torch.nn.Module) -> Optional[torch.device]:
    """Where all parameters are; None where there is no such place."""
    devices = {parameter.device for parameter in module.parameters()}
    return devices.pop() if len(devices) == 1 else None


def _detached(arguments: dict[str, Any], home: Optional[torch.device]) -> dict[str, Any]:
    """Each tensor a copy: export takes two arguments that share memory for one. Copies are where the module is, as
    sessions take inputs from the host's memory, too."""
    return torch.utils._pytree.tree_map(lambda x: _copy(x, home), arguments)


def _copy(x: Any, home: Optional[torch.device]) -> Any:
    if not isinstance(x, torch.Tensor):
        return x
    copy = x.detach().clone()
    return (copy if home in (None, x.device) else copy.to(home)).requires_grad_(x.requires_grad)


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
    before = [(part, part.training) for _, part in named_parts(module)]
    if not training:
        module.eval()
    try:
        yield
    finally:
        for part, was in before:
            part.training = was


def _plain_attention() -> Any:
    """Attention is one operation of the program, whichever kernel PyTorch has for it. While it traces for a GPU, the
    choice of a kernel that needs rows of a multiple of 8 would make that a condition on the module's sizes; the one
    that is made of matmuls and a softmax has no conditions."""
    return sdpa_kernel(SDPBackend.MATH)


class _Traced:
    """A module's forward while it is traced."""

    def __init__(self, module: torch.nn.Module, training: bool) -> None:
        self.module = module
        self.training = training
        self.reached: list[set[str]] = []
        self.reached_inputs: list[set[str]] = []

    @contextmanager
    def plain_forward(self, names: Iterable[str]) -> Iterator[None]:
        """For the while forward has these arguments and no `**kwargs`, whose sizes versions of PyTorch take in
        different forms, and returns containers of Python's with tensors in them; what else it returns, such as a cache
        of keys and values, is left out."""
        forward, held = self.module.forward, self.module.__dict__
        own = {name: held[name] for name in ("forward",) if name in held}

        @functools.wraps(forward)
        def plain(*args: Any, **kwargs: Any) -> Any:
            with self._derivatives():
                outputs = _plain(forward(*args, **kwargs))
            self._note_gradients(outputs, kwargs)
            return outputs

        plain.__signature__ = _signature(names)
        held["forward"] = plain
        try:
            yield
        finally:
            del held["forward"]
            held.update(own)

    @contextmanager
    def _derivatives(self) -> Iterator[None]:
        """Traces or refuses, for training, the module's own use of autograd."""
        if not self.training:
            yield
            return
        with stated_derivatives(self.module), no_hooks(), detached_gradients():
            yield

    def _note_gradients(self, outputs: Any, inputs: Mapping[str, Any]) -> None:
        """Records which parameters and inputs each output reaches, of the last trace."""
        if not self.training:
            return
        leaves = torch.utils._pytree.tree_leaves(outputs)
        parameters = dict(self.module.named_parameters(remove_duplicate=False))
        self.reached = _reached_by(leaves, parameters) if parameters else []
        tensors = {name: x for name, x in inputs.items() if isinstance(x, torch.Tensor) and x.requires_grad}
        self.reached_inputs = _reached_by(leaves, tensors)


def _reached_by(outputs: list[Any], tensors: Mapping[str, torch.Tensor]) -> list[set[str]]:
    return [reached_by(x, tensors) if isinstance(x, torch.Tensor) else set() for x in outputs]


def _limited_interpreters() -> Any:
    """Checks the limit of time at every node that PyTorch traces anew."""
    own = torch.fx.Interpreter.run_node

    def run_node(interpreter: torch.fx.Interpreter, node: torch.fx.Node) -> Any:
        check_limit()
        return own(interpreter, node)

    return replaced(torch.fx.Interpreter, "run_node", run_node)


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


def named_tensors(outputs: Any) -> dict[str, torch.Tensor]:
    """The tensors that a forward returns, by the names that a plan gives them."""
    leaves = _leaves(_plain(outputs))
    return {_output_name(name): leaf for name, leaf in leaves if isinstance(leaf, torch.Tensor)}


def _exported(
    module: torch.nn.Module, arguments: dict[str, Any], shapes: Any, training: bool, defer: bool
) -> tuple[tuple[Any, Splits], Any]:
    """The program with its splits, and the sizes with which it was exported: of some PyTorch says in what form it takes
    them. What it would not believe of the others, such as that T // 2 is not 1, is left to a check at run time."""
    asked = shapes
    for attempt in range(MOST_REFINEMENTS + 1):
        try:
            return _export_once(module, arguments, shapes, training, defer), shapes
        except torch._dynamo.exc.UserError as problem:
            _raise_own(problem)
            other = refined(str(problem), shapes)
            if (other is None and defer) or attempt == MOST_REFINEMENTS:
                raise _cannot(module, problem) from problem
            if other is None or (not defer and rounds(str(problem), other)):
                defer = True
            else:
                shapes = with_bounds(shapes, str(problem)) or other
        except Exception as problem:
            _raise_own(problem)
            if defer or not isinstance(problem, AssertionError):
                raise _cannot(module, problem) from problem
            shapes, defer = asked, True  # PyTorch does not take a form of sizes that it has suggested


@contextmanager
def _all_of(contexts: Iterable[Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for each in contexts:
            stack.enter_context(each)
        yield


def _export_once(
    module: torch.nn.Module, arguments: dict[str, Any], shapes: Any, training: bool, defer: bool
) -> tuple[Any, Splits]:
    """`defer`: what PyTorch would not believe of sizes becomes a check at run time, and that a size which follows from
    others is neither 0 nor 1 is not taken for granted."""
    splits = Splits()
    replaced_calls = (splits, ValueChecks(), SelectedTargets(), RaisingChecks())
    with _oblivious() if defer else nullcontext(), _all_of(replaced_calls), kept_whole(), _without_prints():
        program = torch.export.export(module, (), arguments, dynamic_shapes=shapes, strict=False, **DEFER[defer])
        if training:
            stop_without_grad(program, _with_gradient(program))
        begin_step("take apart")
        with _limited_interpreters():
            return _taken_apart(module, program), splits


@contextmanager
def _without_prints() -> Iterator[None]:
    """Keeps what PyTorch prints of an export that fails, its own graph and guesses of the line, off standard error: the
    error says it."""
    logger = logging.getLogger("torch.fx.experimental.symbolic_shapes")
    export_trace.print = lambda *_, **__: None
    logger.addFilter(_is_no_guess)
    try:
        yield
    finally:
        vars(export_trace).pop("print", None)
        logger.removeFilter(_is_no_guess)


def _is_no_guess(record: logging.LogRecord) -> bool:
    return "Unable to find user code" not in str(record.msg)


def _oblivious() -> Any:
    """Versions of PyTorch without the setting ask less of sizes."""
    name = "backed_size_oblivious"
    settings = torch.fx.experimental._config
    return settings.patch(**{name: True}) if hasattr(settings, name) else nullcontext()


def _taken_apart(module: torch.nn.Module, program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    try:
        return taken_apart(program)
    except (torch._dynamo.exc.UserError, AssertionError):
        raise  # about sizes: the caller tries others
    except Exception as problem:
        _raise_own(problem)
        if "_functorch" in program.graph_module.code:
            raise Error(
                f"{type(module).__name__} uses transforms of torch.func (grad, vmap, ...), which torch.export does not "
                "trace; torch.compile(model, backend=\"smelt\") takes them"
            ) from problem
        raise _cannot(module, problem) from problem


def _raise_own(problem: BaseException) -> None:
    """Raises an Error, such as that of the limit of time, or Ctrl-C, where PyTorch has put another exception around it."""
    at: Optional[BaseException] = problem
    while at is not None:
        if isinstance(at, (Error, KeyboardInterrupt)):
            raise at
        at = at.__cause__ or at.__context__


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
    if "unhashable type: non-nested SymInt" in text:
        return "how many elements a tensor has depends on the numbers in another one, as with a mask as an index"
    if "a leaf Variable that requires grad is being used in an in-place operation" in text:
        return "its code changes an input or a parameter whose gradient is needed in place: make a new tensor"
    if "fake tensor in the exported program constant" in text:
        return (
            "its code takes a tensor out of what is traced, as x.data (write x.detach()), numpy, a library of compiled "
            "operations, or torch.autograd.grad and backward() in forward do (for inference write the derivative out, "
            f"or use torch.compile(model, backend=\"smelt\")). PyTorch says: {_first_lines(text)}"
        )
    said = _first_lines(text.split("The error above occurred when calling torch.export")[0])
    of_python = type(problem) in (KeyError, IndexError, AttributeError, AssertionError, NotImplementedError)
    return f"{type(problem).__name__}: {said}" if of_python or not said else said


def _first_lines(text: str, most: int = 600) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    short = " ".join(lines)
    return short if len(short) <= most else short[:most] + " ..."


_TABLE: dict = {}
TAKEN_APART = ("aten.grid_sampler_2d.default",)
"""Operations that export keeps whole, though PyTorch has a decomposition of them."""


def decompositions() -> dict:
    """PyTorch's own, without those of operations that have a row."""
    if not _TABLE:
        for operation, rule in torch.export.default_decompositions().items():
            if str(operation) not in ROWS and str(operation) not in COMPLEX_ROWS:
                _TABLE[operation] = rule
        more = torch._decomp.decomposition_table
        _TABLE.update({operation: rule for operation, rule in more.items() if str(operation) in TAKEN_APART})
    return _TABLE


def taken_apart(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program in operations that have rows. One that is made of those already is returned as it is: to take it
    apart means to trace it once more, and nothing else."""
    if all(map(_stays_whole, program.graph.nodes)):
        return program
    # Without example inputs, export does not check the arguments while it decomposes the program: a plan
    # checks its sizes itself, and PyTorch writes the check wrong for some arguments.
    program._example_inputs = None
    with _operations_listed_once(), of_any_number():
        return program.run_decompositions(dict(decompositions()))


def _stays_whole(node: torch.fx.Node) -> bool:
    """Whether the node is what the importer reads: a size, a check, or an operation with a row that changes nothing."""
    if node.op != "call_function":
        return node.op in ("placeholder", "output")
    if node.target is operator.getitem or isinstance(node.meta.get("val"), NUMBERS) or str(node.target) in CHECKS:
        return True
    rows = COMPLEX_ROWS if _is_complex(node) or any(map(_is_complex, node.all_input_nodes)) else ROWS
    if not isinstance(node.target, torch._ops.OpOverload) or str(node.target) not in rows:
        return False
    return not node.target._schema.is_mutable and not _hides_a_change(node)


def _is_complex(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    tensors = value if isinstance(value, (list, tuple)) else [value]
    return any(isinstance(each, torch.Tensor) and each.is_complex() for each in tensors)


def _hides_a_change(node: torch.fx.Node) -> bool:
    """Whether the schema does not say all that the operation does, as that of a batch norm, which updates its means in
    training."""
    known = getattr(torch._decomp, "_should_decompose_because_unsafe_op", None)
    return (known is None or known(node.target)) and not _is_in_evaluation(node)


def _is_in_evaluation(node: torch.fx.Node) -> bool:
    """Whether the operation does something else in training, and this is none."""
    given = bound_arguments(node.target, node.args, node.kwargs)
    return any(given.get(name) is False for name in ("train", "training"))


def _operations_listed_once() -> Any:
    """PyTorch asks its dispatcher for all operations before each namespace that it looks at, which takes longer than to
    take a small program apart. Once is enough."""
    utils, name = torch._export.utils, "_materialize_cpp_cia_ops"
    return replaced(utils, name, functools.lru_cache(getattr(utils, name))) if hasattr(utils, name) else nullcontext()
