"""Sizes that a module keeps in small tensors, computes with, and reads back with item().

PyTorch takes what item() returns for a number that depends on the data, u0, whatever it is computed of. Here the elements of
such tensors are followed through the graph as expressions of the sizes, so that u0 is one of them.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Iterator, Mapping, Optional

import numpy
import sympy
import torch
from torch.utils._sympy.functions import FloorDiv

from .dims import expression
from .registry import name_of

MOST_ELEMENTS = 64
"""Larger tensors hold no sizes."""
Elements = numpy.ndarray
"""Of expressions; fractions are exact."""


def sizes_read(graph: torch.fx.Graph, constants: Mapping[torch.fx.Node, torch.Tensor]) -> dict[sympy.Symbol, sympy.Expr]:
    """Returns what the symbols of item() are, of those that follow from the sizes and `constants` alone."""
    reads = [node for node in graph.nodes if _is_read(node)]
    values = _Values(constants) if reads else None
    for node in reads:
        elements = values.of(node.args[0])
        if elements is not None and elements.size == 1 and (found := elements.item()).is_integer:
            values.read[expression(node.meta["val"])] = found
    return values.read if values else {}


def _is_read(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    is_item = node.op == "call_function" and name_of(node.target) in ("aten.item.default", "aten._local_scalar_dense.default")
    return is_item and isinstance(value, torch.SymInt) and isinstance(expression(value), sympy.Symbol)


class _Values:
    """The elements of the graph's tensors, where they are known."""

    def __init__(self, constants: Mapping[torch.fx.Node, torch.Tensor]) -> None:
        self._constants = constants
        self._found: dict[torch.fx.Node, Optional[Elements]] = {}
        self.read: dict[sympy.Symbol, sympy.Expr] = {}

    def of(self, node: torch.fx.Node) -> Optional[Elements]:
        """None where they are not known. Operands first, without recursion: graphs are deep."""
        pending = [node]
        while pending:
            last = pending[-1]
            missing = [x for x in self._operands(last) if x not in self._found]
            pending += missing
            if not missing:
                self._found[pending.pop()] = self._evaluated(last)
        return self._found[node]

    def _operands(self, node: torch.fx.Node) -> list[torch.fx.Node]:
        if (unbound := _unbound(node)) is not None:
            return [unbound.args[0]]
        is_followed = node not in self._constants and node.op == "call_function" and name_of(node.target) in _OPERATIONS
        if name_of(node.target) == _GREATEST:
            return []
        return [x for x in node.all_input_nodes if not _is_number(x)] if is_followed and _is_small(node) else []

    def _evaluated(self, node: torch.fx.Node) -> Optional[Elements]:
        if node in self._constants:
            tensor = self._constants[node]
            return _constant(tensor) if tensor.numel() <= MOST_ELEMENTS else None
        if (unbound := _unbound(node)) is not None and (elements := self._found[unbound.args[0]]) is not None:
            return _select(elements, unbound.args[1] if len(unbound.args) > 1 else 0, node.args[1])
        if name_of(node.target) == _GREATEST:
            return self._greatest(node.args[0])
        if node.op != "call_function" or name_of(node.target) not in _OPERATIONS or not _is_small(node):
            return None
        try:
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), self._operand)
            found = _OPERATIONS[name_of(node.target)](*args, **kwargs)
        except (_Unknown, TypeError, ValueError, IndexError, AttributeError):  # other arguments than are followed
            return None
        return _with_integers(found, node.meta["val"].dtype)

    def _greatest(self, node: torch.fx.Node) -> Optional[Elements]:
        """The last of 0, 1, 2, ..., however often these are repeated and in whatever order."""
        while name_of(node.target) in _REPEATS:
            node = node.args[0]
        ends = {"aten.arange.default": node.args[:1], "aten.arange.start": node.args[1:2]}.get(name_of(node.target))
        if not ends or node.meta["val"].is_floating_point():
            return None
        end = self._operand(ends[0]) if isinstance(ends[0], torch.fx.Node) else sympy.sympify(ends[0])
        return _array(end - 1) if isinstance(end, sympy.Basic) and end.is_integer else None

    def _operand(self, node: torch.fx.Node) -> Any:
        if _is_number(node):
            return sympy.sympify(_number(node.meta["val"])).subs(self.read)
        elements = self._found.get(node)
        if elements is None:
            raise _Unknown
        return elements


class _Unknown(Exception):
    """An operand whose elements are not known."""


def _unbound(node: torch.fx.Node) -> Optional[torch.fx.Node]:
    """The unbind of which the node is a part."""
    source = node.args[0] if node.target is operator.getitem else None
    is_unbind = isinstance(source, torch.fx.Node) and name_of(source.target) == "aten.unbind.int"
    return source if is_unbind else None


def _is_number(node: torch.fx.Node) -> bool:
    return isinstance(node.meta.get("val"), (torch.SymInt, int))


def _number(value: Any) -> Any:
    return expression(value) if isinstance(value, torch.SymInt) else value


def _is_small(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    is_tensor = isinstance(value, torch.Tensor) and not value.is_complex() and value.dtype != torch.bool
    return is_tensor and all(isinstance(n, int) for n in value.shape) and value.numel() <= MOST_ELEMENTS


def _constant(tensor: torch.Tensor) -> Optional[Elements]:
    values = tensor.detach().double().cpu().numpy() if tensor.is_floating_point() else tensor.detach().cpu().numpy()
    if not numpy.isfinite(values).all():
        return None
    return _each(lambda x: sympy.Rational(float(x)) if tensor.is_floating_point() else sympy.Integer(int(x)), values)


def _each(function: Callable, *operands: Any) -> Elements:
    """The function of elements, as an array of the operands' common shape."""
    return _array(numpy.frompyfunc(function, len(operands), 1)(*operands))


def _array(found: Any) -> Elements:
    """NumPy returns the element of an array without dims in its place."""
    if isinstance(found, numpy.ndarray):
        return found
    result = numpy.empty((), dtype=object)
    result[()] = found
    return result


def _with_integers(elements: Elements, dtype: torch.dtype) -> Optional[Elements]:
    """Integers of a conversion are rounded to zero; what may be a fraction below 0 is not followed."""
    if dtype.is_floating_point:
        return elements
    if any(not isinstance(x, sympy.Basic) for x in elements.flat):
        return None
    return _each(_truncated, elements)


def _truncated(x: sympy.Expr) -> sympy.Expr:
    if x.is_integer:
        return x
    if x.is_nonnegative or (x.is_Rational and x >= 0):
        return _floor(x)
    raise _Unknown


def _floor(x: Any) -> sympy.Expr:
    top, bottom = sympy.fraction(sympy.together(sympy.sympify(x)))
    return FloorDiv(sympy.expand(top), bottom) if bottom != 1 else sympy.expand(top)


def _ceil(x: Any) -> sympy.Expr:
    top, bottom = sympy.fraction(sympy.together(sympy.sympify(x)))
    return FloorDiv(sympy.expand(top + bottom - 1), bottom) if bottom != 1 else sympy.expand(top)


def _arithmetic(function: Callable) -> Callable:
    """An operation of two tensors or numbers, the second one times `alpha`."""

    def evaluate(self: Any, other: Any, alpha: Any = 1) -> Elements:
        return _each(lambda a, b: sympy.expand(function(sympy.sympify(a), sympy.sympify(b) * alpha)), self, other)

    return evaluate


def _divided(self: Any, other: Any, rounding_mode: Optional[str] = None) -> Elements:
    exact = _each(lambda a, b: sympy.sympify(a) / _divisor(b), self, other)
    if rounding_mode is None:
        return exact
    return _each(_floor if rounding_mode == "floor" else _truncated, exact)


def _divisor(x: Any) -> sympy.Expr:
    """Of a size: a number above 0."""
    number = sympy.sympify(x)
    if not number.is_Rational or number <= 0:
        raise _Unknown
    return number


def _select(self: Elements, dim: int, index: Any) -> Elements:
    return _array(numpy.take(self, int(index), axis=dim))


def _slice(self: Elements, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Elements:
    start, end = (None if x is None else int(x) for x in (start, end))
    return self[(slice(None),) * (dim % self.ndim) + (slice(start, end, step),)]


def _full(size: Any, fill_value: Any, **_: Any) -> Elements:
    found = numpy.empty(tuple(map(int, size)), dtype=object)
    found.fill(sympy.sympify(fill_value))
    return found


def _reduced(function: Callable) -> Callable:
    def evaluate(self: Elements, dim: Any = None, keepdim: bool = False, **_: Any) -> Elements:
        axis = tuple(dim) if isinstance(dim, (list, tuple)) else dim
        return _array(function(self, axis=None if axis == () else axis, keepdims=keepdim))

    return evaluate


def _same(self: Elements, *_: Any, **__: Any) -> Elements:
    return self


def _operations() -> Iterator[tuple[str, Callable]]:
    for name in ("to.dtype", "to.dtype_layout", "to.device", "_to_copy.default", "clone.default", "detach.default", "detach_.default", "alias.default",
                 "lift_fresh_copy.default", "contiguous.default", "type_as.default"):
        yield name, _same
    for name, function in {"add": operator.add, "sub": operator.sub, "mul": operator.mul}.items():
        for overload in ("Tensor", "Scalar"):
            yield f"{name}.{overload}", _arithmetic(function)
    yield "rsub.Scalar", lambda self, other, alpha=1: _arithmetic(operator.sub)(other, self, alpha)
    for overload in ("Tensor", "Scalar", "Tensor_mode", "Scalar_mode"):
        yield f"div.{overload}", _divided
    for name in ("floor_divide.default", "floor_divide.Scalar"):
        yield name, lambda self, other: _divided(self, other, "floor")
    yield "neg.default", lambda self: _each(operator.neg, self)
    yield "ceil.default", lambda self: _each(_ceil, self)
    yield "floor.default", lambda self: _each(_floor, self)
    yield "scalar_tensor.default", lambda s, **_: _full((), s)
    yield "full.default", _full
    yield "ones.default", lambda size, **_: _full(size, 1)
    yield "zeros.default", lambda size, **_: _full(size, 0)
    yield "select.int", _select
    yield "slice.Tensor", _slice
    yield "stack.default", lambda tensors, dim=0: numpy.stack(tensors, axis=dim)
    yield "cat.default", lambda tensors, dim=0: numpy.concatenate(tensors, axis=dim)
    yield "unsqueeze.default", lambda self, dim: numpy.expand_dims(self, dim)
    for name in ("view.default", "reshape.default"):
        yield name, lambda self, shape: self.reshape(tuple(map(int, shape)))
    for name in ("sum.default", "sum.dim_IntList"):
        yield name, _reduced(numpy.sum)
    for name in ("prod.default", "prod.dim_int"):
        yield name, _reduced(numpy.prod)


_GREATEST = "aten.max.default"
_REPEATS = {
    f"aten.{name}.default" for name in ("repeat", "unsqueeze", "expand", "view", "reshape", "clone", "contiguous", "flatten")
} | {"aten.to.dtype", "aten.to.device", "aten.transpose.int", "aten.flatten.using_ints"}
_OPERATIONS = {f"aten.{name}": function for name, function in _operations()}
