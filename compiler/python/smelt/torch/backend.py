"""torch.compile(model, backend="smelt", dynamic=True, options={"max": {"B": 32, "T": 512}}).

What Dynamo captures becomes two plans: one of the forward, and, when a gradient is first asked for, one that Smelt has
differentiated. Parameters are inputs, so an optimiser of PyTorch's updates them where they are.

Where one output is a single number, the loss, the second plan has the outputs, too, and the gradients of that number.
Once gradients are asked for, calls run it alone, and what comes back through autograd scales the gradients. Other graphs
run the forward, and compute it again for the gradients of all their outputs.
"""

from __future__ import annotations

import copy
import functools
from typing import Any, Callable, Iterable, Mapping, Optional

import sympy
import torch

from ..errors import Error, Status
from .arrays import device_of, for_weights, placed, with_plan_types
from .capture import capture
from .compile import compile_text
from .dims import expression
from .doubles import warn_of_doubles
from .flex import without_block_masks
from .graphs import argument_names, transformed, uses_transforms, without_wrappers
from .hooks import with_hooks
from .outputs import Runner
from .program import Program, build_program

OPTIONS = ("max", "precision", "target", "attention", "fallback")
BEHIND_DIFFERENTIATION = "decompose,drop_stops,simplify,rewrite_reductions,simplify,chunk_rows,rectifier_masks"
"""The passes between derivatives and fusion, as in a plan for training."""


class Arguments:
    """How a plan's inputs, which are tensors, are made of a graph's arguments, some of which are sizes."""

    def __init__(self, given: list[Any], names: Mapping[str, int], inputs: list[str]) -> None:
        self.inputs = inputs
        """Names of the arguments."""
        self.tensors = [i for i, x in enumerate(given) if isinstance(x, torch.Tensor)]
        self.numbers = {i: x for i, x in enumerate(given) if not isinstance(x, (torch.Tensor, torch.SymInt))}
        self.places: dict[sympy.Symbol, tuple[int, int]] = {}
        for i in self.tensors:
            for axis, size in enumerate(given[i].shape):
                if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                    self.places.setdefault(size.node.expr, (i, axis))
        self.sizes = {i: self._place(x) for i, x in enumerate(given) if isinstance(x, torch.SymInt)}
        self.names = self._named(names)

    def _place(self, size: torch.SymInt) -> tuple[int, int]:
        if size.node.expr not in self.places:
            raise Error(f"the graph has an argument {size}, which is no size of a tensor: mark it as a constant")
        return self.places[size.node.expr]

    def _named(self, names: Mapping[str, int]) -> dict[sympy.Symbol, str]:
        """Sizes that change get the names of `max`, both in their order."""
        singles = [n for n in names if "*" not in n]
        if len(self.places) > len(singles):
            where = ", ".join(f"dim {axis} of '{self.inputs[i]}'" for i, axis in self.places.values())
            raise Error(
                f'{len(self.places)} sizes change ({where}): give their bounds in that order, such as options={{"max": '
                '{"B": 32, "T": 512}}'
            )
        return dict(zip(self.places, singles))

    def dynamic_shapes(self, given: list[Any]) -> dict[str, Any]:
        return {self.inputs[i]: self._dims(given[i]) for i in self.tensors}

    def _dims(self, tensor: torch.Tensor) -> dict[int, str]:
        return {
            axis: self.names[size.node.expr]
            for axis, size in enumerate(tensor.shape)
            if isinstance(size, torch.SymInt) and size.node.expr in self.names
        }

    def whole(self, tensors: Mapping[str, torch.Tensor]) -> list[Any]:
        """All arguments of the graph, of the plan's inputs."""
        count = len(self.tensors) + len(self.numbers) + len(self.sizes)
        values: list[Any] = [None] * count
        for i in self.tensors:
            values[i] = tensors[self.inputs[i]]
        for i, number in self.numbers.items():
            values[i] = number
        for i, (tensor, axis) in self.sizes.items():
            values[i] = values[tensor].shape[axis]
        return values


class _Whole(torch.nn.Module):
    """The captured graph as a module of tensors alone."""

    def __init__(self, graph: torch.fx.GraphModule, arguments: Arguments) -> None:
        super().__init__()
        self.graph = graph
        self.order = arguments

    def forward(self, **tensors: torch.Tensor) -> Any:
        return tuple(self.graph(*self.order.whole(tensors)))


class CompiledGraph:
    """The plans of one graph, and calls of them."""

    def __init__(self, graph: torch.fx.GraphModule, given: list[Any], options: Mapping[str, Any]) -> None:
        graph, given = without_block_masks(graph, given)
        self.bounds = dict(options.get("max") or {})
        self.device = device_of(x for x in given if isinstance(x, torch.Tensor))
        self.options = {"target": "cuda"} if self.device.type == "cuda" else {}
        self.options |= {k: v for k, v in options.items() if k not in ("max", "fallback")}
        self.inputs = argument_names(graph)
        self.arguments = Arguments(given, self.bounds, self.inputs)
        self.trained = [i for i in self.arguments.tensors if given[i].requires_grad]
        self.program, self.values, self.reached = self._imported(without_wrappers(with_hooks(graph)), given)
        self.differentiable = self._differentiable(graph)
        self.forward = self._runner(compile_text(self.program.text, mode="infer", **self.options))
        self.loss = self._only_number()
        self._backward: Optional[Runner] = None
        self._whole: Optional[Runner] = None
        self.expects_gradients = False
        """Whether those of the last call were asked for, or may still be."""
        self.calls = 0
        self.changes: dict[str, torch.Tensor] = {}
        """What the call at hand leaves in arguments."""
        self.backward_of = torch._dynamo.disable(_Differentiated.gradients)
        """Not compiled itself where compiled code asks for gradients."""

    def _imported(
        self, graph: torch.fx.GraphModule, given: list[Any]
    ) -> tuple[Program, list[Any], dict[str, set[str]]]:
        """Returns the program, the outputs as PyTorch describes them, and which arguments each of them reaches."""
        module: torch.nn.Module = _Whole(graph, self.arguments)
        sample = {self.inputs[i]: _of_hint(given[i]) for i in self.arguments.tensors}
        shapes = self.arguments.dynamic_shapes(given)
        with torch._guards.tracing(None):
            if uses_transforms(graph):
                module = transformed(module, sample)
            captured = capture(module, sample, shapes, self.bounds, training=True)
        trained = {self.inputs[i] for i in self.trained}
        program = build_program(module, captured, self.bounds, trained=trained, returns_changes=True)
        if program.missing:
            raise Error("Smelt cannot do:\n  " + "\n  ".join(str(m) for m in program.missing))
        warn_of_doubles("the module", program.doubles)
        return program, captured.values, dict(zip(captured.outputs, captured.reached_inputs))

    def _differentiable(self, graph: torch.fx.GraphModule) -> list[bool]:
        """Returns, for each output that is a tensor, whether it requires a gradient, as Dynamo has recorded it."""
        (output,) = (n for n in graph.graph.nodes if n.op == "output")
        values = [n.meta.get("example_value") if isinstance(n, torch.fx.Node) else n for n in output.args[0]]
        tensors = [x for x, name in zip(values, self.program.output_tensors) if name is not None]
        return [x.requires_grad if isinstance(x, torch.Tensor) else True for x in tensors]

    def _runner(self, plan: Any) -> Runner:
        """Of tensors of the host outputs are the host's, also where a plan for GPUs was asked for."""
        session = plan.session(from_scratch=True, device=str(self.device) if self.device.type == "cuda" else None)
        if self.program.parameters:
            session.load_state_dict({n: for_weights(t.float()) for n, t in self.program.parameters.items()})
        return Runner(session._native, self.device, self.program.output_types)

    # ---- calls

    def __call__(self, *given: Any) -> list[Any]:
        self.calls += 1
        tensors = [self._argument(i, given[i]) for i in self.arguments.tensors]
        asked = any(self.differentiable) and torch.is_grad_enabled()
        wants = asked and any(given[i].requires_grad for i in self.arguments.tensors)
        results = _Differentiated.apply(self, self.calls, *tensors) if wants else self.run(self.calls, tensors)
        self._write_changes(given)
        return self._with_numbers(list(results), given)

    def _argument(self, number: int, tensor: torch.Tensor) -> torch.Tensor:
        """Of an argument that the graph changes a copy, which backward finds as it was."""
        name = self.inputs[number]
        ready = _ready(f"'{name}'", tensor, self.device)
        return ready.clone() if name in self.program.changes.values() else ready

    def _write_changes(self, given: tuple[Any, ...]) -> None:
        found, self.changes = self.changes, {}
        with torch.no_grad():
            for i in self.arguments.tensors:
                if self.inputs[i] in found:
                    given[i].copy_(found[self.inputs[i]])

    def _with_numbers(self, results: list[Any], given: tuple[Any, ...]) -> list[Any]:
        """Outputs that are no tensors: sizes, and constants."""
        remaining = iter(results)
        known = {s: given[i].shape[axis] for s, (i, axis) in self.arguments.places.items()}
        by_name = {name: known[s] for s, name in self.arguments.names.items()}
        return [next(remaining) if name is not None else self._number(x, by_name) for name, x in
                zip(self.program.output_tensors, self.values)]

    def _number(self, value: Any, sizes: Mapping[str, int]) -> Any:
        if not isinstance(value, torch.SymInt):
            return value
        names = self.program.symbols
        return int(sympy.sympify(expression(value)).subs({s: sizes[n] for s, n in names.items()}))

    def _inputs(self, tensors: list[torch.Tensor]) -> dict[str, torch.Tensor]:
        named = {self.inputs[i]: t.detach() for i, t in zip(self.arguments.tensors, tensors)}
        return with_plan_types({n: t for n, t in named.items() if n in self.program.inputs}, self.program.inputs)

    def run(self, call: int, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        return self._outputs(self.forward.run("forward", self._inputs(tensors), call))

    def _outputs(self, found: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
        self.changes = {name: found[output] for output, name in self.program.changes.items()}
        return [found[n] for n in self.program.output_tensors if n is not None]

    def gradients(
        self, call: int, tensors: list[torch.Tensor], given: Mapping[str, Any], used: Iterable[str]
    ) -> list[Any]:
        """Of all tensors, None where there is none; random numbers are those of the call. `used`: the outputs that are
        differentiated."""
        inputs = self._inputs(tensors)
        inputs |= {f"g.{name}": gradient.float().contiguous() for name, gradient in given.items()}
        return self._by_argument(self.backward.run("backward", inputs, call), used)

    def with_gradients(self, call: int, tensors: list[torch.Tensor]) -> tuple[list[torch.Tensor], list[Any]]:
        """All outputs, and the gradients of the loss."""
        found = self.whole.run("forward", self._inputs(tensors), call)
        return self._outputs(found), self._by_argument(found, [self.loss])

    def _by_argument(self, found: Mapping[str, torch.Tensor], used: Iterable[Any]) -> list[Any]:
        """Returns no gradient of what none of the outputs reaches: zeros would be decayed by an optimiser."""
        reached = set().union(*(self.reached[name] for name in used))
        names = (self.inputs[i] for i in self.arguments.tensors)
        return [found.get(f"grad.{name}") if name in reached else None for name in names]

    def _only_number(self) -> Optional[str]:
        ranks = {n: v.dim() for n, v in zip(self.program.output_tensors, self.values) if n is not None}
        single = [n for n in self.program.float_outputs if ranks[n] == 0]
        return single[0] if len(single) == 1 else None

    @property
    def backward(self) -> Runner:
        if self._backward is None:
            self._backward = self._of_gradients(self.program.backward_text, "total")
        return self._backward

    @property
    def whole(self) -> Runner:
        if self._whole is None:
            self._whole = self._of_gradients(self.program.text, self.loss)
        return self._whole

    def _of_gradients(self, text: str, output: str) -> Runner:
        wanted = [self.inputs[i] for i in self.trained if self.inputs[i] in self.program.inputs]
        passes = f"differentiate{{output={output},wrt={'+'.join(wanted)}}},{BEHIND_DIFFERENTIATION}"
        return self._runner(compile_text(text, mode="infer", pipeline=passes, **self.options))


class _Differentiated(torch.autograd.Function):
    """A graph with gradients: of its loss with the outputs, of other outputs by a plan of their own behind them."""

    @staticmethod
    def forward(context: Any, graph: CompiledGraph, call: int, *tensors: torch.Tensor) -> Any:
        context.graph, context.call, context.early = graph, call, None
        context.set_materialize_grads(False)
        context.save_for_backward(*tensors)
        if graph.loss is not None and graph.expects_gradients:
            results, context.early = graph.with_gradients(call, list(tensors))
            graph.expects_gradients = False  # until they are asked for
        else:
            results = graph.run(call, list(tensors))
        passing = [r.is_floating_point() and d for r, d in zip(results, graph.differentiable)]
        context.mark_non_differentiable(*(r for r, passes in zip(results, passing) if not passes))
        context.floats = {i: r.shape for i, r in enumerate(results) if r.is_floating_point()}
        return tuple(results)

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        twice = torch.is_grad_enabled()
        with torch.no_grad():
            found = context.graph.backward_of(context, gradients)
        return _differentiated_once(found, context.saved_tensors) if twice else found

    @staticmethod
    def gradients(context: Any, gradients: tuple) -> Any:
        graph, tensors = context.graph, list(context.saved_tensors)
        given = dict(zip(graph.program.float_outputs, (gradients[i] for i in context.floats)))
        graph.expects_gradients = True
        if [name for name, gradient in given.items() if gradient is not None] == [graph.loss]:
            found = context.early or graph.with_gradients(context.call, tensors)[1]
            return (None, None, *_scaled(found, given[graph.loss]))
        used = [name for name, gradient in given.items() if gradient is not None]
        if not used:
            return (None, None, *(None for _ in tensors))
        device = given[used[0]].device
        for name, shape in zip(given, context.floats.values()):
            if given[name] is None:
                given[name] = torch.zeros(shape, device=device)
        return (None, None, *graph.gradients(context.call, tensors, given, used))


class _Once(torch.autograd.Function):
    """Gradients that may be used as values. PyTorch's once_differentiable takes them for constants where those of the
    outputs are constants."""

    @staticmethod
    def forward(context: Any, count: int, *tensors: torch.Tensor) -> Any:
        return tuple(x.view_as(x) for x in tensors[:count])

    @staticmethod
    def backward(context: Any, *_: Any) -> Any:
        raise Error(
            "a gradient of a graph that the backend smelt has compiled is differentiated again, which its plans do not "
            "do: take the inner gradient in the compiled code, by torch.func.grad"
        )


def _differentiated_once(found: tuple, inputs: tuple) -> tuple:
    gradients = [g for g in found if isinstance(g, torch.Tensor)]
    marked = iter(_Once.apply(len(gradients), *gradients, *inputs))
    return tuple(next(marked) if isinstance(g, torch.Tensor) else g for g in found)


def _scaled(gradients: list[Any], by: torch.Tensor) -> list[Any]:
    """Copies, since they may be asked for again."""
    scaled = iter(torch._foreach_mul([g for g in gradients if g is not None], by.reshape(())))
    return [None if g is None else next(scaled) for g in gradients]


def _ready(name: str, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Contiguous, and where the plan reads it: forward and backward share what is copied here."""
    return placed(name, tensor if tensor.is_contiguous() else tensor.contiguous(), device)


def _of_hint(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the sizes at hand, but at least 2 where they may change."""
    sizes = [max(2, x.node.hint) if isinstance(x, torch.SymInt) else int(x) for x in tensor.shape]
    return torch.zeros(sizes, dtype=tensor.dtype, device=tensor.device, requires_grad=tensor.requires_grad)


class GraphByNumbers:
    """Dynamo hands floats of Python over as tensors. A plan has them as constants: there is one for each set."""

    def __init__(
        self, graph: torch.fx.GraphModule, values: list[Any], floats: list[int], options: dict[str, Any]
    ) -> None:
        self.graph, self.values, self.floats, self.options = graph, values, floats, options
        self.compiled: dict[tuple[float, ...], CompiledGraph] = {}

    def of(self, numbers: tuple[float, ...]) -> CompiledGraph:
        if numbers not in self.compiled:
            values = list(self.values)
            for i, number in zip(self.floats, numbers):
                values[i] = number
            graph = with_constants(self.graph, dict(zip(self.floats, numbers)))
            self.compiled[numbers] = CompiledGraph(graph, values, self.options)
        return self.compiled[numbers]

    def __call__(self, *given: Any) -> list[Any]:
        return self.of(tuple(float(given[i]) for i in self.floats))(*given)


def with_constants(graph: torch.fx.GraphModule, numbers: Mapping[int, float]) -> torch.fx.GraphModule:
    """A copy in which these arguments are numbers."""
    graph = copy.deepcopy(graph)
    placeholders = [n for n in graph.graph.nodes if n.op == "placeholder"]
    for i, number in numbers.items():
        for user in list(placeholders[i].users):
            if user.op == "call_method" and user.target == "item":
                user.replace_all_uses_with(number)
                graph.graph.erase_node(user)
    graph.recompile()
    return graph


def _floats(graph: torch.fx.GraphModule, values: list[Any]) -> list[int]:
    """The arguments that are floats of Python: single numbers whose `item` alone is asked for."""
    nodes = [n for n in graph.graph.nodes if n.op == "placeholder"]

    def is_float(node: torch.fx.Node, value: Any) -> bool:
        single = isinstance(value, torch.Tensor) and value.dim() == 0 and value.dtype == torch.float64
        return single and all(u.op == "call_method" and u.target == "item" for u in node.users)

    return [i for i, (node, value) in enumerate(zip(nodes, values)) if is_float(node, value)]


def smelt_backend(
    graph: torch.fx.GraphModule, inputs: list[Any], options: Optional[Mapping[str, Any]] = None, **_: Any
) -> Callable[..., Any]:
    """A backend for torch.compile. Of its options, `max` has the bounds of the sizes that change, in their order, and
    the others are those of smelt.compile; fallback=True leaves to PyTorch what Smelt cannot do."""
    options = dict(options or {})
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise _passed_on()(f"the backend smelt has no option {', '.join(unknown)}; it has {', '.join(OPTIONS)}")
    values = _example_values(graph, inputs)
    floats = _floats(graph, values)
    try:
        compiled = GraphByNumbers(graph, values, floats, options)
        compiled.of(tuple(float(inputs[i]) for i in floats))
        return compiled
    except Exception as problem:  # of PyTorch's tracing, too
        if options.get("fallback"):
            return graph.forward
        raise _refusal(problem) from problem


@functools.lru_cache
def _passed_on() -> type[Error]:
    """Returns a class of Errors that Dynamo passes on as they are."""

    class BackendError(Error, getattr(torch._dynamo.exc, "ShortenTraceback", Error)):
        def __init__(self, message: str, status: Status = "invalid_argument") -> None:
            RuntimeError.__init__(self, message)
            self.status = status
            self.first_useful_frame = None

        def __reduce__(self) -> Any:
            return Error, (str(self), self.status)

    return BackendError


def _refusal(problem: Exception) -> Error:
    if isinstance(problem, Error):
        return _passed_on()(str(problem), problem.status)
    said = " ".join(str(problem).split())[:400]
    return _passed_on()(
        f"the graph cannot be compiled ({type(problem).__name__}: {said}); options={{\"fallback\": True}} leaves what "
        "Smelt cannot do to PyTorch"
    )


def _example_values(graph: torch.fx.GraphModule, inputs: list[Any]) -> list[Any]:
    """Arguments with their symbolic sizes, as Dynamo has noted them."""
    nodes = [n for n in graph.graph.nodes if n.op == "placeholder"]
    return [n.meta.get("example_value", x) for n, x in zip(nodes, inputs)]
