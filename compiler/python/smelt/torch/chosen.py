"""Elements that a mask chooses: x[mask], torch.where(mask), masked_select.

How many there are depends on the data, and a plan's sizes do not. So a plan computes all places, the chosen ones and the
others, and what is chosen counts where the numbers leave these places again: at x[mask] = y, in sums, means and losses.
Between them, each place must follow from itself alone, whatever is in the others: other operations are refused by name.

PyTorch gives the number of chosen places a symbol, the same for all that one mask chooses. A tensor's dim of chosen places
has the size of this symbol, or a multiple of it where further dims were joined behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, Optional

import sympy
import torch

from ..builder import Value
from ..builder.sizes import Shape, product
from .dims import expression
from .aten.indexing import picked
from .aten.scatter import put_where, rows_in_order
from .registry import ROWS, bound_arguments, name_of, refuse
from .writer import Writer

HARMLESS = {"f32": 0.5, "i32": 0, "i64": 0, "bool": False}
"""What stands in places that are not chosen, where it is a power, a divisor or a place in a table."""


MOST_COMPARED = 200
"""Operations of two masks that are compared to find that they are the same mask."""


@dataclass(frozen=True)
class Chosen:
    """The dim of a tensor that has chosen places."""

    axis: int
    symbol: sympy.Symbol
    size: sympy.Expr


class ChosenPlaces:
    """The masks of one program by their symbols, and the operations on what they choose."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.masks: dict[sympy.Symbol, Value] = {}
        """Of one dim."""
        self.constants: dict[torch.fx.Node, torch.Tensor] = {}
        """Nodes whose numbers are known: how many places such a mask chooses is a size as any other."""
        self.nodes: dict[sympy.Symbol, torch.fx.Node] = {}
        """Those that make the masks."""
        self.shapes: dict[sympy.Symbol, Shape] = {}
        self.groups: dict[int, sympy.Symbol] = {}
        """By the numbers of values of which each row of a mask has the same number of chosen places: the mask's symbol."""
        self.same: dict[sympy.Symbol, sympy.Symbol] = {}
        """Symbols of masks that were made once more, to the first ones."""
        self.coordinates: dict[int, tuple[sympy.Symbol, int, int]] = {}
        """By the numbers of values that are the places themselves along a dim of the mask: its symbol, the dim, and of
        how many."""
        self.columns: dict[int, tuple[Value, ...]] = {}
        """By the numbers of tables of coordinates."""

    # ---- what PyTorch says of the sizes

    def of(self, node: torch.fx.Node) -> Optional[Chosen]:
        """None of a tensor without chosen places."""
        value = node.meta.get("val")
        found = [c for each in _tensors(value) for c in self._dims(each)]
        if len(set(found)) > 1 and isinstance(value, torch.Tensor):
            refuse("two dims of chosen places: how many there are depends on the data")
        return found[0] if found else None

    def _dims(self, value: torch.Tensor) -> Iterator[Chosen]:
        for axis, size in enumerate(value.shape):
            for symbol in _symbols(size) & set(self.masks):
                yield Chosen(axis, self.same.get(symbol, symbol), expression(size).subs(self.same))

    def is_counted(self, node: torch.fx.Node) -> bool:
        """Whether it is a number that follows from how many places are chosen."""
        value = node.meta.get("val")
        return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) and bool(_symbols(value) & set(self.masks))

    def mask(self, chosen: Chosen, shape: Shape, axis: Optional[int] = None) -> Value:
        """Which elements of a tensor of this shape are in chosen places."""
        w, flat, axis = self.writer, self.masks[chosen.symbol], chosen.axis if axis is None else axis
        inner = w.dims.of(sympy.cancel(chosen.size / chosen.symbol))
        if inner != 1:
            flat = w.reshape(w.broadcast(flat, [0], (flat.shape[0], inner)), (product((flat.shape[0], inner)),))
        return w.broadcast(flat, [axis], shape)

    def flat_mask(self, chosen: Chosen) -> Value:
        """Of the dim alone."""
        return self.mask(chosen, self.writer.dims.shape([chosen.size]), 0)

    def chosen_or(self, x: Value, chosen: Chosen, number: Any) -> Value:
        """x, and this number in other places."""
        return self.writer.select(self.mask(chosen, x.shape), x, self.writer.operand(number, x.dtype, x.shape))

    def chosen_first(self, x: Value, chosen: Chosen) -> Value:
        """The chosen places of x come first, in order; behind them are any."""
        w, mask = self.writer, self.flat_mask(chosen)
        rank, own = w.sub(w.scan(w.cast(mask, "i32"), 0), 1), w.iota(mask.shape, 0)
        zeros = w.constant(0, "i32", mask.shape)
        order = w.node("scatter_add", [zeros, w.select(mask, rank, 0), w.select(mask, own, 0)], axis=0)
        return w.gather(x, order, chosen.axis)

    # ---- operations

    def choose(self, node: torch.fx.Node, name: str, args: tuple, kwargs: dict) -> Any:
        """What a mask picks; None of operations that pick nothing by a mask."""
        if name in _MASKS:
            return _MASKS[name](self, node, *args, **kwargs)
        return _GROUPS[name](self, node, *args, **kwargs) if self.masks and name in _GROUPS else None

    def concern(self, node: torch.fx.Node) -> bool:
        return bool(self.masks) and any(self.of(x) or self.is_counted(x) for x in (node, *node.all_input_nodes))

    def write(self, node: torch.fx.Node, name: str, out: Any, given: dict) -> Any:
        """The results of the node, or a Refusal. `given`: its arguments by name."""
        self._check_numbers(node, name)
        if name in _ENDS and (found := _ENDS[name](self, node, name, out, given)) is not None:
            return found
        self._check_places(node, name)
        source = given.get("self")
        columns = self.columns.get(source.number) if isinstance(source, Value) else None
        if columns and (found := _column(name, given, columns)) is not None:
            return found
        found = ROWS[name](self.writer, out, **given)
        if name in _PICKS and found.dtype == "f32" and not self.of(node.args[0]):
            return self.chosen_or(found, self.of(node), HARMLESS["f32"])
        return found

    def check_results(self, output: torch.fx.Node) -> None:
        """Throws where a result of the module has chosen places."""
        if any(map(self.of, output.all_input_nodes)) or any(map(self.is_counted, output.all_input_nodes)):
            refuse("a result of the module: how many elements a mask picks depends on the data")

    def _check_numbers(self, node: torch.fx.Node, name: str) -> None:
        if any(map(self.is_counted, node.all_input_nodes)) and name not in _SHAPED:
            refuse("computes with how many elements a mask picks, which depends on the data")

    def _check_places(self, node: torch.fx.Node, name: str) -> None:
        """Throws where a place of the result may follow from others than itself."""
        result = self.of(node)
        operands = [(x, found) for x in node.all_input_nodes if (found := self.of(x)) is not None]
        symbols = {found.symbol for _, found in operands} | ({result.symbol} if result else set())
        is_alone = result is not None and len(symbols) == 1 and _is_alone(node, name, result, operands)
        if not is_alone:
            refuse("a mask as an index: how many elements it picks depends on the data, and this needs all of them")

    def add_mask(self, node: torch.fx.Node, source: torch.fx.Node, mask: Value) -> sympy.Symbol:
        """`node`: what the mask picks, or a list of it; `source`: what makes the mask. Returns the symbol of how many
        there are."""
        sizes = [size for each in _tensors(node.meta["val"]) for size in each.shape if isinstance(size, torch.SymInt)]
        own = [s for size in sizes for s in _symbols(size) if s not in self.writer.dims.names or s in self.masks]
        if not own:
            refuse("a mask as an index that picks a number of elements that PyTorch knows")
        symbol = own[0]
        if symbol not in self.masks:
            first = next((s for s, other in self.nodes.items() if is_same(source, other)), None)
            count = product(mask.shape)
            self.writer.dims.names[symbol] = count
            if (outer := self.of(source)) is not None:  # of places that another mask chose
                mask = self.writer.both(mask, self.mask(outer, mask.shape))
            self.masks[symbol] = self.writer.reshape(mask, (count,)) if first is None else self.masks[first]
            self.shapes[symbol] = mask.shape
            self.same |= {symbol: first} if first is not None else {}
            self.nodes |= {symbol: source} if first is None else {}
        return self.same.get(symbol, symbol)


def is_same(a: torch.fx.Node, b: torch.fx.Node) -> bool:
    """Whether two nodes compute the same numbers, because they are the same operations of the same tensors."""
    seen, pending = set(), [(a, b)]
    while pending:
        pair = pending.pop()
        if pair[0] is pair[1] or pair in seen:
            continue
        seen.add(pair)
        ours, theirs = (torch.utils._pytree.tree_leaves((x.args, x.kwargs)) for x in pair)
        if len(seen) > MOST_COMPARED or not _is_same_operation(*pair) or len(ours) != len(theirs):
            return False
        for x, y in zip(ours, theirs):
            if isinstance(x, torch.fx.Node) and isinstance(y, torch.fx.Node):
                pending.append((x, y))
            elif type(x) is not type(y) or isinstance(x, torch.fx.Node) or x != y:
                return False
    return True


def _is_same_operation(a: torch.fx.Node, b: torch.fx.Node) -> bool:
    target = a.target
    is_pure = isinstance(target, torch._ops.OpOverload) and not target._schema.is_mutable
    return target is b.target and is_pure and torch.Tag.nondeterministic_seeded not in target.tags


def _known_places(places: ChosenPlaces, node: torch.fx.Node, source: torch.fx.Node) -> Optional[torch.Tensor]:
    """The coordinates of the places that a constant mask chooses, a row each; `node`: what it picks."""
    if source not in places.constants:
        return None
    found = places.constants[source].nonzero()
    symbols = {s for each in _tensors(node.meta["val"]) for size in each.shape for s in _symbols(size)}
    names = places.writer.dims.names
    names |= {symbol: len(found) for symbol in symbols if symbol not in names}
    return found


def _tensors(value: Any) -> list[torch.Tensor]:
    return [x for x in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(x, torch.Tensor)]


def _read(node: torch.fx.Node) -> list[torch.Tensor]:
    return [value for x in node.all_input_nodes for value in _tensors(x.meta.get("val"))]


def _symbols(size: Any) -> set:
    found = size.node.expr if isinstance(size, (torch.SymInt, torch.SymFloat, torch.SymBool)) else size
    return set(getattr(found, "free_symbols", ()))


# ---- masks that choose


def _picked(places: ChosenPlaces, node: torch.fx.Node, x: Value, indices: list) -> Optional[Value]:
    """x[:, mask]: a mask over dims behind the first ones."""
    w, axes = places.writer, [i for i, each in enumerate(indices) if each is not None]
    masks = [indices[i] for i in axes if indices[i].dtype == "bool"]
    if not masks:
        return None
    if len(axes) != 1:
        refuse("a mask beside another index: how many elements it picks depends on the data")
    (axis,), (mask,) = axes, masks
    if (known := _known_places(places, node, node.args[1][axis])) is not None:
        return picked(w, x, list(range(axis, axis + mask.rank)), list(map(w.table, known.unbind(1))))
    symbol = places.add_mask(node, node.args[1][axis], mask)
    flat = w.reshape(x, x.shape[:axis] + (product(mask.shape),) + x.shape[axis + mask.rank :])
    return places.chosen_or(flat, Chosen(axis, symbol, symbol), HARMLESS[x.dtype])


def _masked(places: ChosenPlaces, node: torch.fx.Node, x: Value, mask: Value) -> Value:
    w, shape = places.writer, tuple(places.writer.dims.shape(torch.broadcast_shapes(*(t.shape for t in _read(node)))))
    is_whole = tuple(node.args[1].meta["val"].shape) == tuple(torch.broadcast_shapes(*(t.shape for t in _read(node))))
    if not is_whole and places.of(node.args[1]):
        refuse("a mask of chosen places that is spread: how many elements it picks depends on the data")
    symbol = places.add_mask(node, node.args[1] if is_whole else node, w.spread(mask, shape))
    return places.chosen_or(w.reshape(w.spread(x, shape), (product(shape),)), Chosen(0, symbol, symbol), HARMLESS[x.dtype])


def _nonzero(places: ChosenPlaces, node: torch.fx.Node, x: Value) -> Any:
    """The coordinates of all places: a tensor for each dim of the mask, or one of them all."""
    w = places.writer
    if (known := _known_places(places, node, node.args[0])) is not None:
        return w.table(known) if isinstance(node.meta["val"], torch.Tensor) else tuple(map(w.table, known.unbind(1)))
    mask = x if x.dtype == "bool" else w.point("ne", x, 0)
    symbol = places.add_mask(node, node.args[0], mask)
    columns = [w.reshape(w.iota(mask.shape, axis), (product(mask.shape),)) for axis in range(mask.rank)]
    places.coordinates |= {column.number: (symbol, axis, mask.rank) for axis, column in enumerate(columns)}
    if not isinstance(node.meta["val"], torch.Tensor):
        return tuple(columns)
    table = w.concat([w.reshape(column, (*column.shape, 1)) for column in columns], 1)
    places.columns[table.number] = tuple(columns)
    return table


def _column(name: str, given: dict, columns: tuple[Value, ...]) -> Any:
    """Coordinates along one dim, out of a table of all; None of other operations."""
    if name == "aten.unbind.int" and given["dim"] in (1, -1):
        return columns
    if name == "aten.select.int" and given["dim"] in (1, -1):
        return columns[given["index"]]
    is_flat = name.split(".")[1] in ("squeeze", "view", "reshape", "flatten")
    return columns[0] if is_flat and len(columns) == 1 else None


def _where(places: ChosenPlaces, node: torch.fx.Node, condition: Value, *others: Any) -> Any:
    return None if others else _nonzero(places, node, condition)


_MASKS: dict[str, Callable] = {
    "aten.index.Tensor": _picked,
    "aten.masked_select.default": _masked,
    "aten.nonzero.default": _nonzero,
    "aten.nonzero_numpy.default": _nonzero,
    "aten.where.default": _where,
}


# ---- x[mask].view(rows, -1, width)[:, -1], of a mask that chooses the same number in each row


def _grouped(places: ChosenPlaces, node: torch.fx.Node, x: Value, size: list) -> Optional[Value]:
    """The chosen places of each row of the mask, which stay where they are among the others."""
    found, result = places.of(node.args[0]), places.of(node)
    if found is None or result is None or found.axis != 0 or found.size != found.symbol or result.axis != 1:
        return None
    shape, sizes = places.shapes[found.symbol], node.meta["val"].shape
    rest = tuple(places.writer.dims.shape(sizes[2:]))
    if len(shape) != 2 or places.writer.dims.of(sizes[0]) != shape[0] or rest != x.shape[1:]:
        return None
    grouped = places.writer.reshape(x, (*shape, *rest))
    places.groups[grouped.number] = found.symbol
    return grouped


def _whole_slice(
    places: ChosenPlaces, node: torch.fx.Node, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Optional[Value]:
    """All of a group's rows."""
    is_whole = places.groups.get(x.number) and node.meta["val"].shape == node.args[0].meta["val"].shape
    return x if is_whole else None


def _last_of_rows(places: ChosenPlaces, node: torch.fx.Node, x: Value, dim: int, index: int) -> Optional[Value]:
    """The last chosen place of each row. Rows with different numbers of them, or with none, are an error."""
    symbol = places.groups.get(x.number)
    if symbol is None or (dim, index) != (1, -1):
        return None
    w, (rows, length) = places.writer, places.shapes[symbol]
    mask = w.reshape(places.masks[symbol], (rows, length))
    last = w.reduce("max", w.select(mask, w.iota(mask.shape, 1), -1), [1])
    counts = w.sum(w.cast(mask, "i32"), [1])
    is_same_number = w.point("eq", counts, w.spread(w.reduce("max", counts, [0]), counts.shape))
    last = w.inside(w.select(is_same_number, last, w.spread(w.size(length), last.shape)), length)
    places_of_all = w.add(w.mul(w.iota((rows,), 0), w.spread(w.size(length), (rows,))), last)
    return w.gather(w.reshape(x, (product((rows, length)), *x.shape[2:])), places_of_all, 0)


_GROUPS: dict[str, Callable] = {
    "aten.view.default": _grouped,
    "aten.reshape.default": _grouped,
    "aten.slice.Tensor": _whole_slice,
    "aten.select.int": _last_of_rows,
}


# ---- where what is chosen leaves its places


def _put(places: ChosenPlaces, node: torch.fx.Node, name: str, out: Any, given: dict) -> Optional[Value]:
    """x[mask] = y, and x[places of the mask] = y."""
    w, x, values, indices = places.writer, given["self"], given["values"], given["indices"]
    axes = [i for i, each in enumerate(indices) if each is not None]
    symbol = places_symbol(places, [node.args[1][i] for i in axes], [indices[i] for i in axes], axes)
    source, adds = places.of(node.args[2]), given.get("accumulate", False)
    if symbol is not None and (source is None or source.symbol == symbol):
        return put_where(w, x, places.masks[symbol], axes[0], _dims(indices), values, adds)
    if source is not None and len(axes) == 1 and indices[axes[0]].dtype == "bool":
        mask = w.reshape(indices[axes[0]], (product(indices[axes[0]].shape),))
        count = w.sum(w.cast(places.flat_mask(source), "i32"), [0])
        values = rows_in_order(w, places.chosen_first(values, source), source.axis, mask, count)
        return put_where(w, x, mask, axes[0], _dims(indices), values, adds)
    if not adds or source is None:
        refuse("values at places that a mask picks, which may be the same")
    return ROWS[name](w, out, **{**given, "values": places.chosen_or(values, source, 0)})


def _dims(indices: list[Optional[Value]]) -> int:
    """How many dims the mask has that these are, or that these are the coordinates of."""
    given = [each for each in indices if each is not None]
    return given[0].rank if given[0].dtype == "bool" else len(given)


def places_symbol(
    places: ChosenPlaces, nodes: list[torch.fx.Node], indices: list[Value], axes: list[int]
) -> Optional[sympy.Symbol]:
    """That of the mask which the index is, or whose own coordinates the indices are, in order; else None."""
    if len(indices) == 1 and indices[0].dtype == "bool":
        return next((symbol for symbol, made in places.nodes.items() if is_same(nodes[0], made)), None)
    known = [places.coordinates.get(each.number) for each in indices]
    if not known or None in known or axes != list(range(axes[0], axes[0] + len(axes))):
        return None
    is_whole = [axis for _, axis, _ in known] == list(range(known[0][2]))
    return known[0][0] if is_whole and len({symbol for symbol, *_ in known}) == 1 else None


def _add(places: ChosenPlaces, node: torch.fx.Node, name: str, out: Any, given: dict) -> Optional[Value]:
    """Rows that are added at places: those of no chosen place are 0."""
    index, source = node.args[2:4]
    found, own = places.of(source), places.of(index)
    if found is None or own is None or own.symbol != found.symbol or places.of(node) is not None:
        return None
    key = "source" if "source" in given else "src"
    return ROWS[name](places.writer, out, **{**given, key: places.chosen_or(given[key], found, 0)})


def _scatter_in_order(places: ChosenPlaces, node: torch.fx.Node, name: str, out: Any, given: dict) -> Optional[Value]:
    """The chosen places come first, in order."""
    found = places.of(node.args[2])
    if found is None or places.of(node) is not None:
        return None
    return ROWS[name](places.writer, out, **{**given, "source": places.chosen_first(given["source"], found)})


def _sum(places: ChosenPlaces, node: torch.fx.Node, name: str, out: Any, given: dict) -> Optional[Value]:
    """A sum or a mean over chosen places, and maybe other dims."""
    found = places.of(node.args[0])
    if found is None or places.of(node) is not None:
        return None
    w, x = places.writer, given["self"]
    row = ROWS["aten.sum.dim_IntList" if name.endswith(".dim") else name.replace("mean", "sum")]
    total = row(w, out, **{**given, "self": places.chosen_or(x, found, x.dtype != "bool" and 0)})
    return total if ".sum." in name else _per_element(places, total, x, found, given.get("dim"))


def _per_element(places: ChosenPlaces, total: Value, x: Value, found: Chosen, dim: Any) -> Value:
    count = places.writer.cast(_count(places, x, found, dim), "f32")
    return places.writer.div(total, places.writer.spread(count, total.shape))


def _count(places: ChosenPlaces, x: Value, found: Chosen, dim: Any) -> Value:
    """How many elements such a reduction reads."""
    w = places.writer
    axes = {axis % x.rank for axis in (dim if isinstance(dim, (list, tuple)) else [dim])} if dim not in (None, [], ()) else range(x.rank)
    rest = product([x.shape[axis] for axis in axes if axis != found.axis])
    return w.mul(w.sum(w.cast(places.flat_mask(found), "i32"), [0]), w.operand(rest, "i32", ()))


def _loss_of_classes(places: ChosenPlaces, node: torch.fx.Node, name: str, out: Any, given: dict) -> Optional[Value]:
    """Targets in other places are those that the loss ignores."""
    found = places.of(node.args[1])
    if found is None or places.of(node.args[0]) != Chosen(0, found.symbol, found.size) or found.axis != 0:
        return None
    target = given["target"]
    if target.dtype not in ("i32", "i64"):
        return None
    w = places.writer
    return ROWS[name](w, out, **{**given, "target": places.chosen_or(target, found, given.get("ignore_index", -100))})


def _loss(places: ChosenPlaces, node: torch.fx.Node, name: str, out: Any, given: dict) -> Optional[Value]:
    """A loss of each element, and its sum or mean over those in chosen places."""
    operands = [x for x in node.all_input_nodes if places.of(x)]
    reduction = given.get("reduction", 1)
    if reduction == 0 or not operands or places.of(node) is not None:
        return None
    found, w = places.of(operands[0]), places.writer
    if any(places.of(x) != found for x in operands):
        return None
    shape = w.dims.shape(torch.broadcast_shapes(*(x.meta["val"].shape for x in operands)))
    each = ROWS[name](w, type(out)(out.dtype, shape, out.torch_dtype), **{**given, "reduction": 0})
    total = w.sum(places.chosen_or(each, found, 0), range(each.rank))
    return total if reduction == 2 else _per_element(places, total, each, found, None)


_PICKS = ("aten.index.Tensor", "aten.index_select.default")
"""Rows of what has no chosen places itself, at places that may not be chosen."""
_ENDS: dict[str, Callable] = {
    "aten.index_put.default": _put,
    "aten.index_add.default": _add,
    "aten.scatter_add.default": _add,
    "aten.masked_scatter.default": _scatter_in_order,
    **dict.fromkeys(("aten.sum.default", "aten.sum.dim_IntList", "aten.mean.default", "aten.mean.dim"), _sum),
    **dict.fromkeys(("aten.cross_entropy_loss.default", "aten.nll_loss.default"), _loss_of_classes),
    **{
        f"aten.{loss}.default": _loss
        for loss in (
            "mse_loss",
            "l1_loss",
            "smooth_l1_loss",
            "huber_loss",
            "binary_cross_entropy",
            "binary_cross_entropy_with_logits",
        )
    },
}


# ---- operations of which each place follows from itself


def _is_alone(
    node: torch.fx.Node, name: str, result: Chosen, operands: list[tuple[torch.fx.Node, Chosen]]
) -> bool:
    overload, base = node.target, name.removeprefix("aten.").split(".")[0]
    given = bound_arguments(overload, node.args, node.kwargs)
    if torch.Tag.pointwise in overload.tags or base in _EACH:
        return all(_is_aligned(node, x, found, result) for x, found in operands)
    rule = _RULES.get(base)
    return rule is not None and rule(node, given, result, operands)


def _rank(node: torch.fx.Node) -> int:
    return _tensors(node.meta["val"])[0].dim()


def _is_aligned(node: torch.fx.Node, x: torch.fx.Node, found: Chosen, result: Chosen) -> bool:
    """The same place from the last dim, as in operations that spread their operands."""
    return found.size == result.size and _rank(x) - found.axis == _rank(node) - result.axis


def _along(*names: str) -> Callable:
    """Operations along dims: those of the chosen places are not among them."""

    def rule(node: torch.fx.Node, given: dict, result: Chosen, operands: list) -> bool:
        dims = next((given[name] for name in names if name in given), None)
        dims = dims if isinstance(dims, (list, tuple)) else [dims]
        if not dims or any(not isinstance(dim, int) for dim in dims):
            return False
        return all(found.size == result.size and found.axis not in {dim % _rank(x) for dim in dims} for x, found in operands)

    return rule


def _batch(*own: str) -> Callable:
    """Operations on a batch of rows: only these operands have chosen places, in the first dim."""

    def rule(node: torch.fx.Node, given: dict, result: Chosen, operands: list) -> bool:
        allowed = [given.get(name) for name in own]
        return result.axis == 0 and all(
            any(x is each for each in allowed) and found.axis == 0 and found.size == result.size for x, found in operands
        )

    return rule


def _of_rows(node: torch.fx.Node, given: dict, result: Chosen, operands: list) -> bool:
    """x W^T: the last dim is summed over."""
    return all(x is given["input"] and found.axis < _rank(x) - 1 and found.axis == result.axis for x, found in operands)


def _product(node: torch.fx.Node, given: dict, result: Chosen, operands: list) -> bool:
    """Rows of the first operand, or batches of both."""
    first, *_ = list(given.values())
    if len(operands) == 1 and operands[0][0] is first:
        x, found = operands[0]
        return found.axis < _rank(x) - 1 and _rank(x) - found.axis == _rank(node) - result.axis
    return all(found.axis < _rank(x) - 2 and _is_aligned(node, x, found, result) for x, found in operands)


def _normalized(node: torch.fx.Node, given: dict, result: Chosen, operands: list) -> bool:
    x, found = operands[0]
    return len(operands) == 1 and x is given["input"] and found.axis < _rank(x) - len(given["normalized_shape"])


def _joined(node: torch.fx.Node, given: dict, result: Chosen, operands: list) -> bool:
    """View and reshape: what is in front of the dim has the same number of elements."""
    (x, found), *others = operands
    before, after = x.meta["val"].shape[: found.axis], node.meta["val"].shape[: result.axis]
    return not others and _elements(before) == _elements(after)


def _elements(sizes: Iterable[Any]) -> sympy.Expr:
    return sympy.expand(sympy.prod([expression(size) for size in sizes]))


def _moved(node: torch.fx.Node, given: dict, result: Chosen, operands: list) -> bool:
    """Dims that change places, or are added or dropped: PyTorch says where the dim is."""
    return len(operands) == 1 and operands[0][1].size == result.size


def _listed(node: torch.fx.Node, given: dict, result: Chosen, operands: list) -> bool:
    """cat and stack: along another dim, all of them with chosen places."""
    is_stack = _rank(node) != _rank(operands[0][0])
    dim = given.get("dim", 0) % _rank(node)
    where = [found.axis + (is_stack and found.axis >= dim) for _, found in operands]
    return dim != result.axis and len(operands) == len(set(given["tensors"])) and all(axis == result.axis for axis in where)


def _looked_up(node: torch.fx.Node, given: dict, result: Chosen, operands: list) -> bool:
    """Rows of a table that has no chosen places itself; or along another dim than theirs."""
    table = given.get("weight", given.get("self"))
    return all(x is not table for x, _ in operands) or ("dim" in given and _along("dim")(node, given, result, operands))


def _indexed(node: torch.fx.Node, given: dict, result: Chosen, operands: list) -> bool:
    """x[i, :, j] of a table; or along other dims of what has chosen places."""
    if all(x is not given["self"] for x, _ in operands):
        return True
    (x, found), *others = operands
    indices = list(given["indices"])
    return not others and (found.axis >= len(indices) or indices[found.axis] is None) and found.size == result.size


def _rules() -> Iterator[tuple[str, Callable]]:
    for name in ("softmax", "log_softmax", "_softmax", "_log_softmax", "cumsum", "cumprod", "logsumexp", "sort", "argsort",
                 "slice", "select", "narrow", "squeeze", "unbind", "split", "split_with_sizes", "chunk", "gather",
                 "sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "any", "all", "var", "std", "var_mean",
                 "prod", "flip", "roll", "norm", "linalg_vector_norm", "glu", "unfold", "cummax", "topk"):
        yield name, _along("dim", "dims", "dimension")
    yield "linear", _of_rows
    for name in ("matmul", "mm", "bmm"):
        yield name, _product
    for name in ("conv1d", "conv2d", "conv3d", "group_norm", "instance_norm", "avg_pool2d", "max_pool2d", "adaptive_avg_pool2d"):
        yield name, _batch("input", "self")
    yield "scaled_dot_product_attention", _batch("query", "key", "value", "attn_mask")
    for name in ("layer_norm", "rms_norm"):
        yield name, _normalized
    for name in ("view", "reshape", "_unsafe_view", "flatten", "unflatten"):
        yield name, _joined
    for name in ("permute", "transpose", "unsqueeze", "expand", "movedim", "t"):
        yield name, _moved
    for name in ("cat", "stack"):
        yield name, _listed
    for name in ("embedding", "index_select"):
        yield name, _looked_up
    yield "index", _indexed


_RULES = dict(_rules())
_EACH = set(
    "to _to_copy clone contiguous detach alias dropout zeros_like ones_like full_like rand_like randn_like type_as lift_fresh_copy "
    "masked_fill where floor_divide remainder bucketize new_zeros new_ones new_full new_empty zeros ones full empty".split()
)
"""Operations on each element that PyTorch does not mark as such, and tensors of given sizes."""
_SHAPED = {
    f"aten.{name}"
    for name in (
        "view.default reshape.default _unsafe_view.default expand.default unflatten.int zeros.default ones.default empty.memory_format "
        "new_zeros.default new_ones.default new_empty.default sym_size.int"
    ).split()
}
"""Operations that take a number of chosen places as a size."""
