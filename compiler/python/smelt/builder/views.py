"""Elements in other places: reshapes, broadcasts, parts, rows of tables."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from ..errors import Error
from ..ranges import LIMITS
from .constants import converted
from .integers import Integers
from .sizes import Shape, Size, is_known, kept_axes
from .values import Number, Value


class Views(Integers):
    def reshape(self, x: Value, shape: Sequence[Size]) -> Value:
        shape = tuple(shape)
        if x.shape == shape:
            return x
        axes = kept_axes(x.shape, shape)
        if axes is not None and x.place is not None and x.place[0] in axes:
            return self.iota(shape, axes[x.place[0]], *x.place[1:])
        result = self.view("reshape", x, x.dtype, shape)
        if axes is not None:
            base, base_axes = x.spread or (x, range(x.rank))
            result.spread = (base, tuple(axes.get(a, -1) for a in base_axes))
        return result

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        permutation = [p % x.rank for p in permutation]
        if x.turned is not None:
            base, before = x.turned
            return self.transpose(base, [before[p] for p in permutation])
        if permutation == list(range(x.rank)):
            return x
        if x.place is not None:
            return self.iota(tuple(x.shape[p] for p in permutation), permutation.index(x.place[0]), *x.place[1:])
        result = self.view("transpose", x, permutation=permutation)
        result.turned = (x, tuple(permutation))
        return result

    def spread(self, x: Value, shape: Sequence[Size]) -> Value:
        """x as NumPy broadcasts it: dims line up at the end, and those of 1 are repeated."""
        shape, before = tuple(shape), len(shape) - x.rank
        if x.shape == shape:
            return x
        base, axes = (x, range(x.rank)) if x.spread is None or x.place is not None else x.spread
        return self.broadcast(base, [a + before if a >= 0 else -1 for a in axes], shape)

    def broadcast(self, x: Value, axes: Sequence[int], shape: Shape) -> Value:
        """Dim i of x is dim axes[i] of the result; one of 1 may be repeated, or be none of its dims (-1)."""
        kept = [i for i, a in enumerate(axes) if a >= 0 and x.shape[i] == shape[a]]
        if any(i not in kept and size != 1 for i, size in enumerate(x.shape)):
            raise Error(f"a tensor of {x.type} broadcast to [{', '.join(map(str, shape))}]")
        if x.place is not None and x.place[0] in kept:
            return self.iota(shape, axes[x.place[0]], *x.place[1:])
        inner = self.reshape(x, [x.shape[i] for i in kept])
        if len(kept) == len(shape):
            return inner
        result = self.view("broadcast", inner, inner.dtype, shape, axes=[axes[i] for i in kept])
        result.spread = (x, tuple(a if i in kept else -1 for i, a in enumerate(axes)))
        return result

    def operand(self, x: Any, dtype: Optional[str] = None, shape: Optional[Sequence[Size]] = None) -> Value:
        """A value, a number, a size or an array in the type and the shape, where these are given."""
        value = x if isinstance(x, Value) else self.lifted(x, dtype, shape)
        value = value if dtype is None else self.cast(value, dtype)
        return value if shape is None else self.spread(value, shape)

    # ---- parts

    def slice(self, x: Value, axis: int, begin: Size, length: Size, step: int = 1) -> Value:
        """Each step-th element along the axis from `begin` on, backwards where the step is below 0."""
        axis %= x.rank
        if begin == 0 and length == x.shape[axis] and step == 1:
            return x
        if step == 1:
            self.require_natural(begin, x.shape[axis] - begin - length)
        shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
        if x.place is not None:
            where, stride, first = x.place
            moved = (stride * step, first + stride * begin) if where == axis else (stride, first)
            return self.iota(shape, where, *moved)
        if step < 0:
            return self.gather(x, self.iota((length,), 0, step, begin), axis)
        if step == 1:
            return self.node("slice", [x], x.dtype, shape, axis=axis, begin=begin)
        return self.node("strided_slice", [x], x.dtype, shape, axis=axis, begin=begin, step=step)

    def reverse(self, x: Value, axis: int) -> Value:
        return self.slice(x, axis, x.shape[axis] - 1, x.shape[axis], -1)

    def pad(self, x: Value, axis: int, before: Size, after: Size, number: Number = 0) -> Value:
        """x with elements of one number before and after it along the axis; a side below 0 is cut."""
        axis %= x.rank
        cut = [-side if is_known(side) and side < 0 else 0 for side in (before, after)]
        x = self.slice(x, axis, cut[0], x.shape[axis] - sum(cut)) if any(cut) else x
        before, after = before + cut[0], after + cut[1]
        if before == 0 and after == 0:
            return x
        number = converted(number, x.dtype)
        result = self.node("pad", [x], axis=axis, low=before, high=after, value=number)
        if x.splat == number or x.shape[axis] == 0:
            return self.constant(number, x.dtype, result.shape)
        if x.dtype in LIMITS:
            result.low, result.high = min(x.numbers[0], number), max(x.numbers[1], number)
        return result

    def windows(self, x: Value, axis: int, count: Size, size: int, step: int, dilation: int = 1) -> Value:
        """The axis becomes two: element (i, j) is that at i * step + j * dilation."""
        axis %= x.rank
        reach = dilation * (size - 1) + 1
        self.require_natural(x.shape[axis] - reach)
        if is_known(count) and is_known(x.shape[axis]) and x.shape[axis] - reach >= count * step:
            x = self.slice(x, axis, 0, (count - 1) * step + reach)
        return self.node("windows", [x], axis=axis, size=size, step=step, dilation=dilation)

    def concat(self, parts: Sequence[Value], axis: int) -> Value:
        axis %= parts[0].rank
        parts = self.alike([x for x in parts if x.shape[axis] != 0] or parts[:1])
        if len(parts) == 1:
            return parts[0]
        return self.node("concat", parts, axis=axis)

    def gather(self, table: Value, places: Any, axis: int) -> Value:
        """Slices of the table along the axis."""
        places = self.places(self.operand(places, "i32"))
        return self.node("gather", [table, places], axis=axis % table.rank)
