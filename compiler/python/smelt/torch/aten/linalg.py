"""Linear algebra of matrices of few rows: eliminations and reflections, one step for each row, all of whose operations
the graph has; gradients follow from them. A singular matrix gives infinities or NaN in the place of PyTorch's error.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...builder import Value
from ...builder.sizes import broadcast_shapes
from ..registry import refuse, row
from .indexing import element_places, pick
from .reduction import largest

MOST = 32
"""Rows of a matrix: each of them makes about ten operations."""


def _steps(x: Value) -> int:
    """The smaller one of the numbers of rows and columns."""
    rows, columns = x.shape[-2:]
    if not isinstance(rows, int) or not isinstance(columns, int):
        refuse("linear algebra of a matrix whose size changes")
    if min(rows, columns) > MOST:
        refuse(f"linear algebra of a matrix of {min(rows, columns)} rows; Smelt takes up to {MOST}")
    return min(rows, columns)


def _turned(w, x: Value) -> Value:
    """The transposed matrices."""
    return w.transpose(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


def _row(w, x: Value, k: int) -> Value:
    return w.slice(x, x.rank - 2, k, 1)


def _column(w, x: Value, k: int) -> Value:
    return w.slice(x, x.rank - 1, k, 1)


def _element(w, x: Value, i: int, k: int) -> Value:
    return _column(w, _row(w, x, i), k)


def product_of(w, a: Value, b: Value) -> Value:
    """The product of matrices whose dims in front spread."""
    front = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    letters = "ABCDEF"[: len(front)]
    a, b = (w.spread(x, front + x.shape[-2:]) for x in (a, b))
    return w.matmul(f"{letters}mk,{letters}kn->{letters}mn", a, b)


def _identity(w, shape) -> Value:
    n = len(shape)
    return w.cast(w.point("eq", w.iota(shape, n - 2), w.iota(shape, n - 1)), "f32")


# ---- elimination


@dataclass
class Elimination:
    """The rows after elimination with partial pivoting, and what was done to them."""

    matrix: Value
    """U on and above the diagonal, the factors of L below."""
    order: Value
    """i32[..., rows]: which row each of them was."""
    pivots: list[Value]
    """i32[..., 1]: the row with which row k was exchanged."""
    swaps: Value
    """i32[...]: the number of exchanges."""
    info: Value
    """i32[...]: 0, or the first k whose pivot is 0, counted from 1."""


def eliminate(w, x: Value, steps: int) -> Elimination:
    front, n = x.shape[:-2], x.rank - 2
    rows = x.shape[-2]
    order = w.iota((*front, rows), n)
    swaps = info = w.constant(0, "i32", front)
    pivots = []
    for k in range(steps):
        candidates = w.reshape(w.slice(_column(w, x, k), n, k, rows - k), (*front, rows - k))
        place = w.add(largest(w, w.point("abs", w.stop(candidates)), n)[1], k)
        pivots.append(w.reshape(place, (*front, 1)))
        swaps = w.add(swaps, w.cast(w.point("ne", place, k), "i32"))
        source = _exchange(w, (*front, rows), k, place)
        order = pick(w, order, element_places(w, order.shape, n, source))
        x = _rows_picked(w, x, source)
        pivot = w.reshape(_element(w, x, k, k), front)
        broken = w.both(w.point("eq", w.stop(pivot), 0.0), w.point("eq", info, 0))
        info = w.select(broken, k + 1, info)
        x = _without(w, x, k)
    return Elimination(x, order, pivots, swaps, info)


def _exchange(w, shape, k: int, place: Value) -> Value:
    """Places of rows of which k and `place` are exchanged."""
    at = w.iota(shape, len(shape) - 1)
    place = w.along(place, [len(shape) - 1], shape)
    result = w.select(w.point("eq", at, k), place, w.select(w.point("eq", at, place), k, at))
    result.low = 0
    return result


def _rows_picked(w, x: Value, source: Value) -> Value:
    n = x.rank - 2
    places = w.broadcast(source, range(source.rank), (*x.shape[:n], source.shape[-1], x.shape[-1]))
    places.low = 0
    return pick(w, x, element_places(w, x.shape, n, places))


def _without(w, x: Value, k: int) -> Value:
    """The rows below k without its column, in whose place the factors are stored."""
    n = x.rank - 2
    below = w.point("gt", w.iota(x.shape, n), k)
    factor = w.spread(w.div(_column(w, x, k), _element(w, x, k, k)), x.shape)
    less = w.sub(x, w.mul(factor, w.spread(_row(w, x, k), x.shape)))
    column = w.iota(x.shape, n + 1)
    changed = w.select(w.point("eq", column, k), factor, w.select(w.point("gt", column, k), less, x))
    return w.select(below, changed, x)


def _upper(w, x: Value, steps: int) -> Value:
    x = w.slice(x, x.rank - 2, 0, steps)
    n = x.rank
    return w.select(w.point("ge", w.iota(x.shape, n - 1), w.iota(x.shape, n - 2)), x, 0.0)


def _lower(w, x: Value, steps: int, unit: bool = True) -> Value:
    x = w.slice(x, x.rank - 1, 0, steps)
    n = x.rank
    i, j = w.iota(x.shape, n - 2), w.iota(x.shape, n - 1)
    x = w.select(w.point("lt", j, i) if unit else w.point("le", j, i), x, 0.0)
    return w.add(x, _identity(w, x.shape)) if unit else x


def _pivot_numbers(w, e: Elimination) -> Value:
    """Counted from 1, as LAPACK has them."""
    return w.add(w.concat(e.pivots, e.pivots[0].rank - 1), 1)


@row("aten.linalg_lu_factor.default")
def lu_factor_alone(w, out, A, pivot=True):
    return lu_factor(w, out, A, pivot)[:2]


@row("aten.linalg_lu_factor_ex.default")
def lu_factor(w, out, A, pivot=True, check_errors=False):
    if not pivot:
        refuse("an elimination without exchanges of rows")
    e = eliminate(w, A, _steps(A))
    return e.matrix, _pivot_numbers(w, e), e.info


@row("aten.linalg_lu.default")
def lu(w, out, A, pivot=True):
    if not pivot:
        refuse("an elimination without exchanges of rows")
    steps = _steps(A)
    e = eliminate(w, A, steps)
    return _permutation(w, e.order), _lower(w, e.matrix, steps), _upper(w, e.matrix, steps)


def _permutation(w, order: Value) -> Value:
    """P of A = P L U: column j has its 1 in the row that row j was."""
    n = order.rank
    shape = (*order.shape, order.shape[-1])
    rows = w.broadcast(order, [*range(n - 1), n], shape)
    return w.cast(w.point("eq", w.iota(shape, n - 1), rows), "f32")


def _order_of(w, pivots: Value, rows: int) -> Value:
    """The order of the rows after the exchanges."""
    front, n = pivots.shape[:-1], pivots.rank - 1
    order = w.iota((*front, rows), n)
    for k in range(pivots.shape[-1]):
        place = w.reshape(w.sub(w.slice(pivots, n, k, 1), 1), front)
        order = pick(w, order, element_places(w, order.shape, n, _exchange(w, order.shape, k, place)))
    return order


@row("aten.lu_unpack.default")
def lu_unpack(w, out, LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    empty = w.constant(0.0, "f32", (0,))
    steps = _steps(LU_data)
    data = (_lower(w, LU_data, steps), _upper(w, LU_data, steps)) if unpack_data else (empty, empty)
    order = _order_of(w, w.cast(LU_pivots, "i32"), LU_data.shape[-2]) if unpack_pivots else None
    return (_permutation(w, order) if unpack_pivots else empty), *data


# ---- triangles


def solve_triangle(w, a: Value, b: Value, upper: bool, unit: bool) -> Value:
    """X of A X = B by substitution."""
    n = _steps(a)
    front = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, x = w.spread(a, front + a.shape[-2:]), w.spread(b, front + b.shape[-2:])
    places = w.iota(x.shape, x.rank - 2)
    for k in reversed(range(n)) if upper else range(n):
        solved = _row(w, x, k) if unit else w.div(_row(w, x, k), _element(w, a, k, k))
        solved = w.spread(solved, x.shape)
        less = w.sub(x, w.mul(w.spread(_column(w, a, k), x.shape), solved))
        rest = w.point("lt" if upper else "gt", places, k)
        x = w.select(w.point("eq", places, k), solved, w.select(rest, less, x))
    return x


@row("aten.linalg_solve_triangular.default")
def solve_triangular(w, out, self, B, upper, left=True, unitriangular=False):
    if left:
        return solve_triangle(w, self, B, upper, unitriangular)
    return _turned(w, solve_triangle(w, _turned(w, self), _turned(w, B), not upper, unitriangular))


@row("aten.triangular_solve.default")
def triangular_solve(w, out, self, A, upper=True, transpose=False, unitriangular=False):
    a = _turned(w, A) if transpose else A
    solved = solve_triangle(w, a, self, upper != transpose, unitriangular)
    return solved, w.spread(A, out[1].shape)


# ---- systems


def _lu_solve(w, matrix: Value, order: Value, b: Value) -> Value:
    front = broadcast_shapes(matrix.shape[:-2], b.shape[:-2])
    b = w.spread(b, front + b.shape[-2:])
    b = _rows_picked(w, b, w.spread(order, front + order.shape[-1:]))
    return solve_triangle(w, matrix, solve_triangle(w, matrix, b, False, True), True, False)


def solve(w, a: Value, b: Value) -> tuple[Value, Elimination]:
    e = eliminate(w, a, _steps(a))
    return _lu_solve(w, e.matrix, e.order, b), e


@row("aten.linalg_solve.default")
def solve_alone(w, out, A, B, left=True):
    return solve_ex(w, (out,), A, B, left)[0]


@row("aten._linalg_solve_ex.default")
def solve_ex(w, out, A, B, left=True, check_errors=False):
    result = out[0]
    vector = B.rank == 1 or (B.rank == A.rank - 1 and all(x == y for x, y in zip(B.shape, A.shape[:-1])))
    b = w.reshape(B, (*B.shape, 1)) if vector else B
    if left or vector:
        found, e = solve(w, A, b)
    else:
        found, e = solve(w, _turned(w, A), _turned(w, b))
        found = _turned(w, found)
    return w.reshape(found, result.shape), w.stop(e.matrix), _pivot_numbers(w, e), e.info


@row("aten.linalg_inv.default", "aten.inverse.default")
def inverse_alone(w, out, A=None, self=None):
    return inverse(w, out, self if A is None else A)[0]


@row("aten.linalg_inv_ex.default")
def inverse(w, out, A, check_errors=False):
    found, e = solve(w, A, _identity(w, A.shape))
    return found, e.info


@row("aten.linalg_lu_solve.default")
def lu_solve(w, out, LU, pivots, B, left=True, adjoint=False):
    order = _order_of(w, w.places(pivots), LU.shape[-2])
    if left and not adjoint:
        return _lu_solve(w, LU, order, B)
    steps = _steps(LU)
    whole = product_of(w, product_of(w, _permutation(w, order), _lower(w, LU, steps)), _upper(w, LU, steps))
    whole = _turned(w, whole) if adjoint else whole
    if left:
        return solve(w, whole, B)[0]
    return _turned(w, solve(w, _turned(w, whole), _turned(w, B))[0])


# ---- determinants


def _diagonal(w, x: Value) -> Value:
    on = w.point("eq", w.iota(x.shape, x.rank - 2), w.iota(x.shape, x.rank - 1))
    return w.sum(w.select(on, x, 0.0), [x.rank - 1])


def _parity(w, swaps: Value) -> Value:
    """-1 of an odd number of exchanges."""
    odd = w.sub(swaps, w.mul(w.div(swaps, 2), 2))
    return w.cast(w.point("sub", 1, w.mul(odd, 2)), "f32")


@row("aten._linalg_det.default")
def determinant(w, out, A):
    from .scan import product_along

    e = eliminate(w, A, _steps(A))
    diagonal = _diagonal(w, e.matrix)
    found = w.reshape(product_along(w, diagonal, diagonal.rank - 1), out[0].shape)
    return w.mul(found, _parity(w, e.swaps)), w.stop(e.matrix), _pivot_numbers(w, e)


@row("aten._linalg_slogdet.default")
def slogdet(w, out, A):
    from .scan import product_along

    e = eliminate(w, A, _steps(A))
    diagonal = _diagonal(w, e.matrix)
    signs = w.point("sign", w.stop(diagonal))
    sign = w.reshape(product_along(w, signs, signs.rank - 1), out[0].shape)
    size = w.sum(w.point("log", w.point("abs", diagonal)), [diagonal.rank - 1])
    return w.mul(sign, _parity(w, e.swaps)), size, w.stop(e.matrix), _pivot_numbers(w, e)


# ---- Cholesky's factors


def cholesky_of(w, a: Value) -> tuple[Value, Value]:
    """L of A = L L^T, whose lower triangle alone is read, and the first row, from 1 on, that has no root, or 0. The
    gradient is symmetric, as PyTorch has it."""
    n = a.rank - 2
    lower = w.point("ge", w.iota(a.shape, n), w.iota(a.shape, n + 1))
    x = w.select(lower, a, _turned(w, a))
    if a.grad:
        mean = w.mul(w.add(a, _turned(w, a)), 0.5)
        x = w.add(w.stop(x), w.sub(mean, w.stop(mean)))
    info = w.constant(0, "i32", a.shape[:-2])
    columns = []
    for k in range(_steps(a)):
        pivot = _element(w, x, k, k)
        bad = w.point("logical_not", w.point("gt", w.reshape(w.stop(pivot), a.shape[:-2]), 0.0))
        info = w.select(w.both(bad, w.point("eq", info, 0)), k + 1, info)
        column = w.mul(_column(w, x, k), w.spread(w.point("rsqrt", pivot), a.shape[:-1] + (1,)))
        column = w.select(w.point("ge", w.iota(column.shape, n), k), column, 0.0)
        columns.append(column)
        x = w.sub(x, w.mul(w.spread(column, a.shape), w.spread(_turned(w, column), a.shape)))
    return w.concat(columns, n + 1), info


@row("aten.linalg_cholesky_ex.default")
def cholesky(w, out, self, upper=False, check_errors=False):
    found, info = cholesky_of(w, _turned(w, self) if upper else self)
    return (_turned(w, found) if upper else found), info


@row("aten.cholesky.default", "aten.linalg_cholesky.default")
def cholesky_alone(w, out, self, upper=False):
    return cholesky(w, (out, out), self, upper)[0]


def _solved_by_factor(w, factor: Value, b: Value, upper: bool) -> Value:
    """PyTorch's gradient of the factor has elements beyond its triangle, which are not read."""
    if factor.grad:
        refuse("the derivative by a triangular factor; use linalg.solve_triangular")
    low = _turned(w, factor) if upper else factor
    low = _lower(w, low, low.shape[-1], unit=False)
    return solve_triangle(w, _turned(w, low), solve_triangle(w, low, b, False, False), True, False)


@row("aten.cholesky_solve.default")
def cholesky_solve(w, out, self, input2, upper=False):
    return _solved_by_factor(w, input2, self, upper)


@row("aten.cholesky_inverse.default")
def cholesky_inverse(w, out, self, upper=False):
    return _solved_by_factor(w, self, _identity(w, self.shape), upper)


# ---- reflections


@row("aten.linalg_qr.default")
def qr(w, out, A, mode="reduced"):
    """Applies Householder's reflections, with LAPACK's signs."""
    n, steps = A.rank - 2, _steps(A)
    rows = A.shape[-2]
    r, q = A, _identity(w, (*A.shape[:-1], rows))
    for k in range(min(steps, rows - 1)):
        column = _column(w, r, k)
        v, scale = _reflector(w, column, k)
        r = w.sub(r, product_of(w, w.mul(v, w.spread(scale, v.shape)), product_of(w, _turned(w, v), r)))
        q = w.sub(q, product_of(w, product_of(w, q, w.mul(v, w.spread(scale, v.shape))), _turned(w, v)))
    empty = w.constant(0.0, "f32", (0,))
    upper = w.point("ge", w.iota(r.shape, n + 1), w.iota(r.shape, n))
    r = w.select(upper, r, 0.0)
    if mode == "complete":
        return q, r
    r = w.slice(r, n, 0, steps)
    return (empty if mode == "r" else w.slice(q, n + 1, 0, steps)), r


def _reflector(w, column: Value, k: int) -> tuple[Value, Value]:
    """v and 2 / |v|^2 of the reflection that takes the column, from row k on, to a multiple of a unit vector; 0 where
    it is one already."""
    n = column.rank - 2
    places = w.iota(column.shape, n)
    below = w.select(w.point("gt", places, k), column, 0.0)
    rest = w.sum(w.mul(below, below), [n])
    one = (*column.shape[:n], 1, 1)
    rest = w.reshape(rest, one)
    head = w.slice(column, n, k, 1)
    some = w.point("gt", w.stop(rest), 0.0)
    safe = w.select(some, rest, 1.0)
    length = w.point("sqrt", w.add(w.mul(head, head), safe))
    lead = w.select(w.point("lt", head, 0.0), w.sub(head, length), w.add(head, length))
    v = w.add(below, w.select(w.point("eq", places, k), w.spread(lead, column.shape), 0.0))
    scale = w.div(w.constant(2.0, "f32", one), w.add(w.mul(lead, lead), safe))
    return v, w.select(some, scale, 0.0)


@row("aten.linalg_householder_product.default")
def householder_product(w, out, input, tau):
    """The first columns of the product of reflections whose vectors have a 1 on the diagonal."""
    n, rows, columns = input.rank - 2, input.shape[-2], input.shape[-1]
    _steps(input)
    q = _identity(w, input.shape)
    for k in reversed(range(tau.shape[-1])):
        column = _column(w, input, k)
        places = w.iota(column.shape, n)
        v = w.select(w.point("gt", places, k), column, 0.0)
        v = w.add(v, w.cast(w.point("eq", places, k), "f32"))
        scale = w.reshape(w.slice(tau, tau.rank - 1, k, 1), (*tau.shape[:-1], 1, 1))
        q = w.sub(q, product_of(w, w.mul(v, w.spread(scale, v.shape)), product_of(w, _turned(w, v), q)))
    return w.slice(q, n + 1, 0, columns) if rows != columns else q


# ---- what is refused by name


@row(
    "aten._linalg_svd.default",
    "aten._linalg_eigh.default",
    "aten.linalg_pinv.atol_rtol_tensor",
    "aten.linalg_eig.default",
)
def decomposed(w, out, *_, **__):
    refuse("eigenvalues, singular values, and what is made of them; Smelt has triangular and orthogonal factors alone")
