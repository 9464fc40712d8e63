"""From a graph of torch.fx, as torch.export makes it, to the nodes of a Writer."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

import sympy
import torch

from ..builder import Value
from ..errors import Error
from ..ranges import INTEGERS
from . import aten  # noqa: F401  (fills the table of rows)
from .chosen import ChosenPlaces
from .complex_values import Complex, has_complex
from .dims import expression
from .doubles import folded, is_computed_in_doubles
from .dtypes import NARROW
from .flex import flex_attention, without_mask_tables
from .registry import COMPLEX, COMPLEX_ROWS, ROWS, Refusal, Result, bound_arguments, name_of, result_of
from .size_tensors import sizes_read
from .writer import Writer

NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)
CHECKS = {
    "aten._linalg_check_errors.default",
    "aten._assert_async.msg",
    "aten._assert_async.default",
    "aten._assert_scalar.default",
    "aten._assert_tensor_metadata.default",
    "aten._functional_assert_async.msg",
    "aten._functional_assert_scalar.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
}
"""Operations that only check what export has relied on; a plan checks the sizes of its inputs itself."""
PLACES = {f"{aten.__name__}.{name}" for name in ("attention", "convolution", "counting_sort", "ctc", "experts", "indexing",
                                                 "linalg", "loss", "matmul", "normalization", "pooling", "resize",
                                                 "scatter", "shape")}
"""Modules whose rows count places of elements, which have 32 bits."""


@dataclass
class Missing:
    """What has no row, and the modules that use it."""

    operation: str
    reason: str
    modules: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        some = ", ".join(self.modules[:4]) + (f" and {len(self.modules) - 4} more" if len(self.modules) > 4 else "")
        return f"{self.operation}: {self.reason} (in {some or 'the module itself'})"


class Importer:
    """Runs over graphs node by node. What has no row is collected, not raised, so that all of it is known at once."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.chosen = ChosenPlaces(writer)
        self.missing: dict[tuple[str, str], Missing] = {}
        self.operations: dict[str, int] = {}
        self.conditions: list[Any] = []
        """Of the sizes, as expressions: what export has relied on."""
        self.read: dict[sympy.Symbol, sympy.Expr] = {}
        """What the code reads from tensors that hold sizes, by PyTorch's symbols."""
        self.doubles: list[tuple[torch.fx.Node, str]] = []
        """Nodes that PyTorch computes in float64 from inputs, and the paths of their modules."""

    def run(
        self,
        module: torch.fx.GraphModule,
        arguments: list[Any],
        constants: Mapping[torch.fx.Node, torch.Tensor] = {},
    ) -> Any:
        """The outputs of the graph of `module` for these values of its placeholders, some of which are constants."""
        without_mask_tables(module)
        given = iter(arguments)
        found: dict[torch.fx.Node, Any] = {}
        known = {**constants, **_attributes(module)}
        folds = folded(module.graph, known)
        self.read |= sizes_read(module.graph, {**known, **folds})
        self.writer.dims.names |= self.read
        self.chosen.constants |= {**known, **folds}
        for node in module.graph.nodes:
            if node in folds:
                found[node] = self._constant(node, folds[node])
            elif node.op == "placeholder":
                found[node] = next(given)
            elif node.op == "get_attr":
                found[node] = self._attribute(module, node)
            elif node.op == "output":
                return torch.fx.node.map_arg(node.args[0], found.__getitem__)
            else:
                found[node] = self._call(node, found)
                if is_computed_in_doubles(node, {*known, *folds}):
                    self.doubles.append((node, module_path(node)))
        return None

    def check_results(self, graph: torch.fx.Graph) -> None:
        """Of the whole module."""
        (output,) = (node for node in graph.nodes if node.op == "output")
        self._guarded(output, "output", lambda: self.chosen.check_results(output))

    def _attribute(self, module: torch.fx.GraphModule, node: torch.fx.Node) -> Any:
        value = operator.attrgetter(node.target)(module)
        # Another one is the graph of a higher-order operation.
        return self._constant(node, value.detach()) if isinstance(value, torch.Tensor) else value

    def _constant(self, node: torch.fx.Node, value: torch.Tensor) -> Any:
        return self._guarded(node, "constant", lambda: self.writer.table(value))

    def _call(self, node: torch.fx.Node, found: dict[torch.fx.Node, Any]) -> Any:
        args = torch.fx.node.map_arg(node.args, found.__getitem__)
        kwargs = torch.fx.node.map_arg(node.kwargs, found.__getitem__)
        args, kwargs = self._with_sizes(args), self._with_sizes(kwargs)
        self.writer.block.source = module_path(node)
        if node.target is operator.getitem:
            return args[0] and args[0][args[1]]
        value = node.meta.get("val")
        if isinstance(value, NUMBERS):
            return self._number_of(value, args)
        name = name_of(node.target)
        if name in CHECKS:
            checked = [x.subs(self.read) for x in args[:1] if isinstance(x, sympy.Basic)]
            self.conditions += [x for x in checked if x.free_symbols and not x.free_symbols & set(self.chosen.masks)]
            return None
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return self._guarded(node, name, lambda: self._higher_order(name, args, kwargs))
        return self._guarded(node, name, lambda: self._row(node, name, args, kwargs))

    def _number_of(self, value: Any, args: tuple) -> Any:
        """A size or a number; the element of a tensor that is a size is that size."""
        if args and isinstance(args[0], Value) and args[0].size is not None and isinstance(value, torch.SymInt):
            self.writer.dims.names[expression(value)] = args[0].size
            return args[0].size
        return self._number(value)

    def _number(self, value: Any) -> Any:
        if isinstance(value, torch.SymInt):
            return self.writer.dims.of(value)
        return value.node.expr if isinstance(value, (torch.SymFloat, torch.SymBool)) else value

    def _with_sizes(self, arguments: Any) -> Any:
        return torch.fx.node.map_aggregate(arguments, self._number)

    def _row(self, node: torch.fx.Node, name: str, args: tuple, kwargs: dict) -> Any:
        self.operations[name] = self.operations.get(name, 0) + 1
        if (picked := self.chosen.choose(node, name, args, kwargs)) is not None:
            return picked
        out = result_of(node.meta.get("val"), self.writer.dims)
        rows = COMPLEX_ROWS if has_complex(args, kwargs, out) else ROWS
        if name not in rows:
            raise Refusal("no row" + (" for complex numbers" if rows is COMPLEX_ROWS else ""))
        results = [x for x in (out if isinstance(out, tuple) else (out,)) if isinstance(x, Result)]
        for result in results:
            if result.dtype is None:
                raise Refusal(f"its result is {result.torch_dtype}, which Smelt does not have")
        writer, row = self.writer, rows[name]
        writer.is_64_bits = not any(x.torch_dtype in NARROW for x in results)
        writer.wide = writer.is_64_bits and row.__module__ not in PLACES
        writer.used_results = _used_results(node)
        try:
            given = bound_arguments(node.target, args, kwargs)
            concerned = self.chosen.concern(node)
            values = self.chosen.write(node, name, out, given) if concerned else row(writer, out, **given)
            found = self._in_width(values, out)
        finally:
            writer.is_64_bits = writer.wide = True
        _check_shapes(found, out)
        return found

    def _in_width(self, values: Any, out: Any) -> Any:
        """Integers of fewer than 64 bits as PyTorch's type of the result holds them."""
        if isinstance(out, tuple) and isinstance(values, (tuple, list)):
            return tuple(self._in_width(x, result) for x, result in zip(values, out))
        is_narrow = isinstance(values, Value) and isinstance(out, Result) and out.torch_dtype in NARROW
        if not is_narrow or values.dtype not in INTEGERS:
            return values
        return self.writer.in_width(values, NARROW[out.torch_dtype])

    def _higher_order(self, name: str, args: tuple, kwargs: dict) -> Any:
        """A graph that is called under a setting of PyTorch's: none of them changes a number but `no_grad`."""
        if name == "wrap_with_set_grad_enabled":
            enabled, module, *inputs = args
            results = self.run(module, inputs)
            return results if enabled else torch.fx.node.map_aggregate(results, self._stopped)
        if name == "wrap_with_autocast":
            _, _, enabled, _, module, *inputs = args
            return self.run(module, inputs)
        if name in ("tag_activation_checkpoint", "wrap_activation_checkpoint"):
            module, *inputs = args
            return self.run(module, inputs)
        if name == "flex_attention":
            return flex_attention(self.writer, *args, **kwargs)
        raise Refusal("control flow that depends on data; Smelt's graphs have none")

    def _stopped(self, x: Any) -> Any:
        if isinstance(x, Complex):
            return x.each(self.writer.stop)
        return self.writer.stop(x) if isinstance(x, Value) else x

    def _guarded(self, node: torch.fx.Node, name: str, make: Callable[[], Any]) -> Any:
        """Of what is refused a stand-in of the right type, so that the rest can be looked at."""
        try:
            return make()
        except Exception as problem:  # of a row that has not thought of these arguments, too
            if node.users and _is_only_checked(node):
                return None
            path, why = module_path(node), _why(problem)
            entry = self.missing.setdefault((name, why), Missing(name, why))
            if path not in entry.modules:
                entry.modules.append(path)
            return self._stand_in(result_of(node.meta.get("val"), self.writer.dims))

    def _stand_in(self, out: Any) -> Any:
        """An input of the graph, which is never written."""
        if isinstance(out, tuple):
            return tuple(map(self._stand_in, out))
        if out is not None and out.dtype == COMPLEX:
            return Complex(*(Value(*self.writer.block.input("missing", ("f32", out.shape))) for _ in range(2)))
        return Value(*self.writer.block.input("missing", (out.dtype or "f32", out.shape))) if out is not None else None


def _is_only_checked(node: torch.fx.Node) -> bool:
    """Whether checks alone read what follows from its results, such as how many there are."""
    seen, pending = {node}, [node]
    while pending:
        each = pending.pop()
        is_part = each.target is operator.getitem or isinstance(each.meta.get("val"), NUMBERS)
        if each is not node and not is_part:
            return False
        users = {user for user in each.users if name_of(user.target) not in CHECKS} - seen
        seen |= users
        pending += users
    return True


def _used_results(node: torch.fx.Node) -> list[bool]:
    """Whether each result of an operation with several is used."""
    users = {user.args[1]: bool(user.users) for user in node.users if user.target is operator.getitem}
    return [users.get(i, False) for i in range(len(node.meta["val"]))] if isinstance(node.meta.get("val"), (list, tuple)) else []


def _attributes(module: torch.fx.GraphModule) -> dict[torch.fx.Node, torch.Tensor]:
    """The constants that are attributes of the module."""
    nodes = [node for node in module.graph.nodes if node.op == "get_attr"]
    values = {node: operator.attrgetter(node.target)(module) for node in nodes}
    return {node: value.detach() for node, value in values.items() if isinstance(value, torch.Tensor)}


def _check_shapes(found: Any, out: Any) -> None:
    """A row that gives another shape than PyTorch's does not take these arguments."""
    if isinstance(out, tuple) and isinstance(found, tuple):
        for value, result in zip(found, out):
            _check_shapes(value, result)
    elif isinstance(out, Result) and isinstance(found, Value):
        sizes = list(zip(found.shape, out.shape))
        differs = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in sizes)
        if differs or len(found.shape) != len(out.shape):
            raise Refusal(f"its row gives a result of {list(found.shape)}; expected {list(out.shape)}")


def _why(problem: Exception) -> str:
    if isinstance(problem, (Refusal, Error)):
        return str(problem)
    return f"its row does not fit these arguments ({type(problem).__name__}: {' '.join(str(problem).split())[:200]})"


def module_path(node: torch.fx.Node) -> str:
    """ "encoder.layer.0.attention": the innermost module that the node comes from."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = list(stack.values())[-1][0]
    return str(path).replace("L['self'].", "").replace('"', "'")
