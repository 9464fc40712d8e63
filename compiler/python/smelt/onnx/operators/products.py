"""Matrix products and sums over letters."""

from __future__ import annotations

import string

from ...builder.sizes import broadcast_shapes, is_known, product
from ..build import is_empty
from ..refusal import Refusal
from ..rows import row


def matmul_of(b, x, y):
    """What NumPy's @ does."""
    left, right = len(x.shape) == 1, len(y.shape) == 1
    x = b.unsqueeze(x, 0) if left else x
    y = b.unsqueeze(y, 1) if right else y
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    letters = string.ascii_lowercase[: len(batch)]

    def own(z, last):
        """Letters of the batch; axes of size 1 that are repeated go away."""
        skipped = len(batch) - len(z.shape) + 2
        kept = [i for i, size in enumerate(z.shape[:-2]) if size == batch[i + skipped]]
        shape = [z.shape[i] for i in kept] + list(z.shape[-2:])
        return b.reshape(z, shape), "".join(letters[i + skipped] for i in kept) + last

    x, x_letters = own(x, "XZ")
    y, y_letters = own(y, "ZY")
    kept = "".join(c for c in letters if c in x_letters or c in y_letters)
    result = b.matmul(f"{x_letters},{y_letters}->{kept}XY", x, y)
    shape = batch + (() if left else (x.shape[-2],)) + (() if right else (y.shape[-1],))
    return (
        b.spread(b.reshape(result, (result.shape[-2], result.shape[-1])), batch + result.shape[-2:])
        if not kept and batch and product(batch) != 1
        else b.reshape(result, shape)
    )


@row("MatMul", narrow=True)
def matmul(n, x, y):
    return matmul_of(n.b, x, y)


@row("Gemm", narrow=True)
def gemm(n, x, y, z):
    b = n.b
    spec = ("km" if n.attribute("transA", 0) else "mk") + "," + ("nk" if n.attribute("transB", 0) else "kn") + "->mn"
    result = b.mul(b.matmul(spec, x, y), n.attribute("alpha", 1.0))
    return result if z is None else b.add(result, b.mul(z, n.attribute("beta", 1.0)))


@row("Einsum")
def einsum(n, *xs):
    spec = n.attribute("equation").replace(" ", "")
    inputs, arrow, out = spec.partition("->")
    names, shapes = inputs.split(","), [x.shape for x in xs]
    names, dots = without_dots(names, shapes)
    if not arrow:
        letters = "".join(names)
        out = "..." + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots))
    out = out.replace("...", dots)
    operands = list(xs)
    while len(operands) > 2:
        kept = "".join(sorted(set(names[0] + names[1]) & set(out + "".join(names[2:]))))
        first = sum_letters(n.b, f"{names[0]},{names[1]}->{kept}", operands[:2])
        operands, names = [first] + operands[2:], [kept] + names[2:]
    return sum_letters(n.b, f"{','.join(names)}->{out}", operands)


def without_dots(names, shapes):
    """Capital letters for what an ellipsis stands for."""
    used = "".join(names)
    free = [c for c in string.ascii_uppercase + string.ascii_lowercase if c not in used]
    count = max(
        [len(shape) - len(name.replace("...", "")) for name, shape in zip(names, shapes) if "..." in name], default=0
    )
    dots = "".join(free[:count])
    own = [len(shape) - len(name.replace("...", "")) for name, shape in zip(names, shapes)]
    return [name.replace("...", dots[len(dots) - k :] if k else "") for name, k in zip(names, own)], dots


def sum_letters(b, spec, operands):
    names = spec.split("->")[0].split(",")
    if len(operands) == 1 or operands[0].dtype == "f32":
        if not any(is_empty(x.shape) for x in operands):
            return b.node("einsum", operands, spec=spec)
    if len(operands) == 2 and all(len(set(name)) == len(name) for name in names):
        return b.matmul(spec, *operands)
    raise Refusal(f"the equation {spec} of {operands[0].dtype}")


@row("MatMulInteger", out="INT32")
def matmul_integer(n, x, y, x_zero, y_zero):
    b = n.b
    x = x if x_zero is None else b.sub(x, per_row(b, x_zero))
    y = y if y_zero is None else b.sub(y, y_zero)
    return matmul_of(b, x, y)


def per_row(b, zero):
    return b.unsqueeze(zero, -1) if zero.shape and is_known(zero.shape[-1]) and zero.shape[-1] != 1 else zero


@row("Det")
def determinant(n, x):
    """Elimination with pivots, a column at a time."""
    b = n.b
    size = x.shape[-1]
    n.refuse_unless(is_known(size) and size <= 16, f"matrices of {size} rows")
    batch = x.shape[:-2]
    rows = product(batch)
    x = b.reshape(x, (rows, size, size))
    result = b.constant(1.0, "f32", (rows,))
    for step in range(size):
        left = size - step
        column = b.reshape(b.slice(x, 2, 0, 1), (rows, left))
        best = b.largest(b.point("abs", column), [1])[1]
        places = b.iota((rows, left), 1)
        is_best = b.point("eq", places, b.unsqueeze(best, 1))
        pivot_row = b.reduce("add", b.select(b.unsqueeze(is_best, 2), x, 0.0), [1], True)
        first_row = b.slice(x, 1, 0, 1)
        x = b.select(b.unsqueeze(is_best, 2), first_row, x)
        pivot = b.reshape(b.slice(pivot_row, 2, 0, 1), (rows,))
        sign = b.select(b.point("eq", best, 0), 1.0, -1.0)
        result = b.mul(result, b.mul(pivot, sign))
        if left > 1:
            rest = b.slice(x, 1, 1, left - 1)
            safe = b.select(b.point("eq", pivot, 0.0), 1.0, pivot)
            factor = b.div(b.slice(rest, 2, 0, 1), b.reshape(safe, (rows, 1, 1)))
            x = b.slice(b.sub(rest, b.mul(factor, pivot_row)), 2, 1, left - 1)
    return b.reshape(result, batch)
