"""A captured module as a module in Smelt's text form, with the tensors that belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Collection, Mapping, Optional

import torch
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from .._native import GraphBuilder
from ..builder import Value
from ..builder.sizes import Shape
from ..errors import Error
from ..ranges import INTEGERS, LIMITS
from ..text import type_text
from .capture import Captured
from .complex_values import Complex
from .conditions import ARTIFICIAL, conditions_on, least_of, size_places
from .dims import Sizes
from .dtypes import NARROW, refuse_doubles, type_in_graph, type_of_input, type_of_output
from .dynamic_dims import user_values
from .importer import Importer, Missing
from .writer import Writer

@dataclass
class Program:
    """The text, and whose tensors its parameters are."""

    text: str = ""
    parameters: dict[str, torch.Tensor] = field(default_factory=dict)
    """Parameters of the text, by name: the module's own, and constant tables."""
    constants: set[str] = field(default_factory=set)
    """Those that are no tensor of the module's state_dict."""
    states: dict[str, torch.Tensor] = field(default_factory=dict)
    """Buffers that forward changes, by name: states of the text, which its graph updates."""
    changes: dict[str, str] = field(default_factory=dict)
    """Names of outputs, beside those of forward, to inputs that forward changes: what it leaves in them."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Names of the state_dict to names of parameters: tied ones share one."""
    inputs: dict[str, torch.dtype] = field(default_factory=dict)
    """What PyTorch's tensors for the inputs are."""
    outputs: list[str] = field(default_factory=list)
    """Of tensors, in order."""
    output_tensors: list[Optional[str]] = field(default_factory=list)
    """The same with None in the place of outputs that are no tensors."""
    float_outputs: list[str] = field(default_factory=list)
    output_types: dict[str, torch.dtype] = field(default_factory=dict)
    """What PyTorch's tensors for the outputs are."""
    symbols: dict[Any, Any] = field(default_factory=dict)
    backward_text: str = ""
    """The graph @backward, whose output `total` is the sum of all float outputs, each times an input g.NAME; empty
    where no input is trained."""
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Of each size that changes an input and a dim that have it."""
    conditions: list[Any] = field(default_factory=list)
    """What these sizes must fulfil."""
    exported: Any = None
    """The torch.export.ExportedProgram."""
    missing: list[Missing] = field(default_factory=list)
    operations: dict[str, int] = field(default_factory=dict)
    doubles: list[tuple[Any, str]] = field(default_factory=list)
    """Nodes that PyTorch computes in float64, with the paths of their modules."""


class ProgramBuilder:
    """Writes the graph of one captured module."""

    def __init__(
        self,
        module: torch.nn.Module,
        captured: Captured,
        bounds: Mapping[str, int],
        wide_ids: bool = True,
        trained: Collection[str] = (),
        decay_all: bool = True,
        returns_changes: bool = False,
    ) -> None:
        self.returns_changes = returns_changes
        self.module = module
        self.captured = captured
        self.bounds = bounds
        self.wide_ids = wide_ids
        self.trained = trained
        self.decay_all = decay_all
        self.program = Program(symbols=captured.symbols, exported=captured.program)
        self.random_ids = 0
        self.declared: dict[str, str] = {}
        self.read: dict[str, Value] = {}
        self.owners = _first_names(module)
        self.unreached: set[str] = set()
        self.constants: dict[Any, torch.Tensor] = {}
        """Placeholders that are constants of the text."""
        specs = captured.program.graph_signature.output_specs
        self.changed = {s.target for s in specs if s.kind == OutputKind.BUFFER_MUTATION}

    def build(self, loss: Optional[str]) -> Program:
        """Of a loss the text has a graph @loss for training; else it has one graph, @forward."""
        if loss is not None:
            self.unreached = self._unreached(loss)
        ranges = self.captured.program.range_constraints
        ranges = {s: r & ValueRanges(self._given_least(s), int_oo) for s, r in ranges.items()}
        products = {name: bound for name, bound in self.bounds.items() if "*" in name}
        sizes = Sizes(dict(self.captured.symbols), ranges, products)
        self.graph = GraphBuilder()
        self.writer = Writer(self.graph, sizes, self._random_id, self._table)
        importer = Importer(self.writer)
        inputs = self._inputs()
        self.graph.source = ""
        results = importer.run(self.captured.program.graph_module, inputs, self.constants)
        importer.check_results(self.captured.program.graph)
        self.program.doubles = importer.doubles
        self.program.missing = list(importer.missing.values())
        self.program.operations = importer.operations
        if self.program.missing:
            return self.program
        self.program.conditions = conditions_on(
            self.captured, [*importer.conditions, *self.captured.conditions], self.bounds, self.writer.natural
        )
        self.program.places = size_places(self.captured, user_values(self.captured.program))
        returned = self._returned(results, loss)
        self.program.text = self._text(returned, "loss" if loss else "forward")
        if self.trained and self.program.float_outputs:
            self.program.backward_text = self._text([("total", self._weighed(returned))], "backward")
        return self.program

    def _unreached(self, loss: str) -> set[str]:
        """Parameters that the loss does not depend on, or through what is detached alone: optimisers of PyTorch leave
        them as they are, and so they are frozen."""
        outputs, reached = self.captured.outputs, self.captured.reached
        place = outputs.index(loss) if loss in outputs else 0
        if not reached or (loss not in outputs and outputs != ["output"]):
            return set()
        found = {self.owners.get(name, name) for name in reached[place]}
        if not found and any(p.requires_grad for p in self.module.parameters()):
            raise Error(f"the output '{outputs[place]}' depends on no parameter that requires a gradient")
        return set(self.owners.values()) - found

    def _weighed(self, outputs: list[tuple[str, Value]]) -> Value:
        """What the gradients are of, given those of the outputs."""
        writer, total = self.writer, None
        for name in self.program.float_outputs:
            value = dict(outputs)[name]
            given = Value(*self.graph.input("g." + name, ("f32", value.shape)))
            part = writer.sum(writer.mul(value, given), range(value.rank))
            total = part if total is None else writer.add(total, part)
        return total

    def _random_id(self) -> int:
        self.random_ids += 1
        return self.random_ids - 1

    # ---- inputs

    def _inputs(self) -> list[Any]:
        signature = self.captured.program.graph_signature
        nodes = {n.name: n for n in self.captured.program.graph.nodes if n.op == "placeholder"}
        names = iter(self.captured.inputs)
        values = []
        for spec in signature.input_specs:
            node = nodes[spec.arg.name]
            if spec.kind == InputKind.USER_INPUT:
                values.append(self._user_input(node.meta.get("val"), names))
            elif spec.kind == InputKind.TOKEN or not node.users:
                values.append(None)
            else:
                values.append(self._held_tensor(spec, node))
        return values

    def _user_input(self, value: Any, names: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        name, shape = next(names), self.writer.dims.shape(value.shape)
        self.writer.dims.check(*shape)
        refuse_doubles(f"input '{name}'", value.dtype)
        dtype = type_of_input(value.dtype, self.wide_ids)
        if dtype is None:
            raise Error(f"input '{name}' is {value.dtype}, which Smelt does not have")
        self.program.inputs[name] = value.dtype
        given = Value(*self.graph.input(name, (dtype, shape)), grad=name in self.trained)
        inner = type_in_graph(value.dtype)
        taken = given if dtype == inner else self.writer.node("convert", [given], inner, shape)
        taken.grad = given.grad
        if value.dtype in NARROW:
            taken.low, taken.high = LIMITS[NARROW[value.dtype]]
        return taken

    def _held_tensor(self, spec: Any, node: torch.fx.Node) -> Value:
        """A parameter, a buffer or a constant."""
        name = spec.target
        if spec.kind == InputKind.PARAMETER:
            return self._parameter(self.owners.get(name, name), self.module.get_parameter(name))
        if spec.kind == InputKind.BUFFER:
            buffer = self._buffer(name)
            if name in self.changed and buffer.numel():
                return self._state(name, buffer)
            is_kept = spec.persistent and buffer.is_floating_point() and buffer.numel() > 1
            return self._parameter(name, buffer) if is_kept else self._constant(node, buffer)
        if spec.kind == InputKind.CONSTANT_TENSOR:
            return self._constant(node, self.captured.program.constants[name].detach())
        raise Error(f"the exported program has an input of the kind {spec.kind.name}, which is not supported")

    def _constant(self, node: torch.fx.Node, tensor: torch.Tensor) -> Value:
        self.constants[node] = tensor
        return self.writer.table(tensor)

    def _buffer(self, name: str) -> torch.Tensor:
        held = dict(self.module.named_buffers(remove_duplicate=False))
        return (held[name] if name in held else self.captured.program.constants[name]).detach()

    def _parameter(self, name: str, tensor: torch.Tensor) -> Value:
        """Declared where it is first read; one that is not trained is frozen."""
        if tensor.is_complex():
            raise Error(f"the parameter '{name}' is complex, which Smelt does not have: make it of two real ones")
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        if is_parameter:
            refuse_doubles(f"parameter '{name}'", tensor.dtype)
        trains = is_parameter and tensor.requires_grad and name not in self.unreached
        shape: Shape = tuple(tensor.shape)
        if tensor.numel() == 0:
            return self.writer.constant(0.0, "f32", shape)
        if name not in self.declared:
            fields = [] if trains else ["frozen = true"]
            if not self.decay_all and tensor.dim() < 2:
                fields.append("decay = false")
            declared = f" {{{', '.join(fields)}}}" if fields else ""
            self.declared[name] = f'parameter "{name}"{declared} : {type_text("f32", shape)}'
            self.program.parameters[name] = tensor
        if name not in self.read:
            self.read[name] = self.writer.node("parameter", [], "f32", shape, name=name)
            self.read[name].grad = trains
        return self.read[name]

    def _state(self, name: str, tensor: torch.Tensor) -> Value:
        """A buffer that forward changes, in its own type, as numbers of the graph."""
        stored = self._declared_state(name, tensor)
        value = self.writer.node("state", [], stored, tuple(tensor.shape), name=name)
        inner = type_in_graph(tensor.dtype)
        if stored != inner and stored != "i64":
            value = self.writer.node("convert", [value], inner, value.shape)
        if tensor.dtype in NARROW:
            value.low, value.high = LIMITS[NARROW[tensor.dtype]]
        return value

    def _declared_state(self, name: str, tensor: torch.Tensor) -> str:
        refuse_doubles(f"buffer '{name}'", tensor.dtype)
        stored = type_of_output(tensor.dtype)
        if stored is None:
            raise Error(f"the module changes the buffer '{name}', which is {tensor.dtype}, which Smelt does not have")
        shape: Shape = tuple(tensor.shape)
        self.declared[name] = f'state "{name}" : {type_text(stored, shape)}'
        self.program.states[name] = tensor
        return stored

    def _update(self, name: str, value: Any) -> None:
        """Writes what forward leaves in a buffer; a run sees it from the next one on."""
        tensor = self._buffer(name)
        if tensor.numel() == 0:
            return
        if not isinstance(value, Value):
            value = self.writer.operand(value, type_in_graph(tensor.dtype), tuple(tensor.shape))
        stored = self._declared_state(name, tensor)
        if stored == "i64":
            value = self.writer.widened(value)
        elif stored != value.dtype:
            value = self.writer.node("convert", [value], stored, value.shape)
        self.graph.node("update", [self.writer.stop(value).number], {"state": name}, ())

    def _table(self, array: Any, _: Optional[str]) -> Value:
        name = f"constants.{len(self.program.constants)}"
        self.program.constants.add(name)
        return self._parameter(name, torch.from_numpy(array.copy()))

    # ---- outputs

    def _returned(self, results: Any, loss: Optional[str]) -> list[tuple[str, Value]]:
        specs = self.captured.program.graph_signature.output_specs
        for spec, result in zip(specs, results):
            if spec.kind == OutputKind.BUFFER_MUTATION:
                self._update(spec.target, result)
        changes = self._changes({s.target: r for s, r in zip(specs, results) if s.kind == OutputKind.USER_INPUT_MUTATION})
        results = [r for r, s in zip(results, specs) if s.kind == OutputKind.USER_OUTPUT]
        _check_outputs(self.captured.outputs, results)
        named = [(n, r) for n, r in zip(self.captured.outputs, results) if isinstance(r, Value)]
        self.program.outputs = [name for name, _ in named]
        self.program.output_tensors = [
            n if isinstance(r, Value) else None for n, r in zip(self.captured.outputs, results)
        ]
        self.program.float_outputs = [name for name, value in named if value.dtype == "f32"]
        if loss is not None:
            return self._loss(named, loss)
        types = dict(zip(self.captured.outputs, self.captured.values))
        self.program.output_types |= {name: types[name].dtype for name, _ in named}
        return [(name, self._as_returned(name, value)) for name, value in [*named, *changes]]

    def _changes(self, results: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Outputs for what forward leaves in its inputs."""
        if results and not self.returns_changes:
            raise Error(
                f"the module changes its inputs {', '.join(results)}, which a plan does not: return the next value, or "
                "keep such a tensor in a buffer"
            )
        self.program.changes = {f"changed.{name}": name for name in results}
        self.program.output_types |= {f"changed.{name}": self.program.inputs[name] for name in results}
        return [(f"changed.{name}", self.writer.stop(value)) for name, value in results.items()]

    def _as_returned(self, name: str, value: Value) -> Value:
        """In the type that PyTorch returns; integers of 32 bits and floats are what the data of commands are."""
        dtype = self.program.output_types[name]
        refuse_doubles(f"output '{name}'", dtype)
        returned = type_of_output(dtype)
        if not self.wide_ids or value.dtype == returned or (self.trained and value.dtype == "f32"):
            return value
        if returned == "i64" and value.dtype in INTEGERS:
            return self.writer.widened(value)
        return self.writer.node("convert", [value], returned, value.shape)

    def _loss(self, named: list[tuple[str, Value]], loss: str) -> list[tuple[str, Value]]:
        """Of a mean its sum and its number of targets; of any other loss itself, and 1 target."""
        found = dict(named)
        if loss not in found and len(named) == 1 and named[0][0] == "output":
            found[loss] = named[0][1]  # the module returns nothing else
        if loss not in found:
            raise Error(f"the module has no output '{loss}'; it has {', '.join(found)}. Name the loss with loss=")
        value = found[loss]
        if any(size != 1 for size in value.shape) or value.dtype != "f32":
            raise Error(f"the output '{loss}' is {value.type}; a loss is one float")
        one = self.writer.constant(1.0, "f32", ())
        total, count = value.mean or (self.writer.reshape(value, ()), one)
        return [("loss_sum", total), ("token_count", count)]

    # ---- the text

    def _text(self, returned: list[tuple[str, Value]], graph: str) -> str:
        written = self.graph.text(graph, [(name, value.number) for name, value in returned])
        return "\n".join(line for line in (self._symbols(), *self.declared.values(), written) if line)

    def _symbols(self) -> str:
        """Bounds of the sizes; those of products are the caller's alone."""
        names = sorted({n for n in self.captured.symbols.values() if isinstance(n, str)})
        bounds = [f"{self._least(name)}{name} <= {self._bound(name)}" for name in names]
        bounds += [f"{name} <= {upper}" for name, upper in self.bounds.items() if "*" in name]
        return f"symbols {', '.join(bounds)}" if bounds else ""

    def _range(self, name: str) -> Any:
        symbol = next(s for s, n in self.captured.symbols.items() if n == name)
        return self.captured.program.range_constraints[symbol]

    def _bound(self, name: str) -> int:
        return self.bounds[name] if name in self.bounds else int(self._range(name).upper)

    def _least(self, name: str) -> str:
        """Given by the caller, or found by PyTorch where convolutions shorten a length."""
        found = int(self._range(name).lower)
        symbol = next(s for s, n in self.captured.symbols.items() if n == name)
        least = max(found if found > ARTIFICIAL else 0, self._given_least(symbol))
        least = least_of(name, self.writer.natural, least, self._bound(name))
        return f"{least} <= " if least != 1 else ""

    def _given_least(self, symbol: Any) -> int:
        return self.captured.least.get(self.captured.symbols.get(symbol), 1)


def _check_outputs(names: list[str], results: list[Any]) -> None:
    for name, result in zip(names, results):
        if isinstance(result, Complex):
            raise Error(f"the output '{name}' is complex, which Smelt does not have: return torch.view_as_real of it")


def _first_names(module: torch.nn.Module) -> dict[str, str]:
    """Of every name of a parameter the first one of the same tensor."""
    first: dict[int, str] = {}
    return {
        name: first.setdefault(id(parameter), name)
        for name, parameter in module.named_parameters(remove_duplicate=False)
    }


def build_program(
    module: torch.nn.Module,
    captured: Captured,
    bounds: Mapping[str, int],
    *,
    loss: Optional[str] = None,
    wide_ids: bool = True,
    decay_all: bool = True,
    trained: Collection[str] = (),
    returns_changes: bool = False,
) -> Program:
    """`trained`: inputs that gradients are wanted of. `returns_changes`: inputs that forward changes have outputs for
    what it leaves in them; else they are refused."""
    builder = ProgramBuilder(module, captured, bounds, wide_ids, trained, decay_all, returns_changes)
    program = builder.build(loss)
    program.aliases = {name: owner for name, owner in builder.owners.items() if owner in program.parameters}
    program.aliases.update({name: name for name in program.parameters if name not in program.constants})
    return program
