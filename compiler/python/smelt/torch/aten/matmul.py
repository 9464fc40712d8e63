"""Products of matrices."""

from __future__ import annotations

import string

from ...builder import Value
from ...builder.sizes import product
from ..registry import refuse, row


@row("aten.linear.default")
def linear(w, out, input, weight, bias=None):
    x = w.cast(input, "f32")
    if weight.rank != 2:
        return matmul(w, out, x, weight) if bias is None else w.add(matmul(w, out, x, weight), bias)
    operands = [x, weight] + ([bias] if bias is not None else [])
    return w.node("linear", operands)


@row("aten.mm.default")
def mm(w, out, self, mat2):
    return w.matmul("mk,kn->mn", self, mat2)


@row("aten.bmm.default")
def bmm(w, out, self, mat2):
    return w.matmul("bmk,bkn->bmn", self, mat2)


@row("aten.mv.default")
def mv(w, out, self, vec):
    return w.matmul("mk,k->m", self, vec)


@row("aten.dot.default", "aten.vdot.default")
def dot(w, out, self, other=None, tensor=None):
    return w.sum(w.mul(self, tensor if other is None else other), [0])


@row("aten.outer.default", "aten.ger.default")
def outer(w, out, self, vec2):
    a, b = w.cast(self, out.dtype), w.cast(vec2, out.dtype)
    return w.mul(w.broadcast(a, [0], out.shape), w.broadcast(b, [1], out.shape))


def _with_addend(w, out, self, product, beta, alpha):
    product = w.mul(product, alpha) if alpha != 1 else product
    if beta == 0:
        return product
    return w.add(product, w.mul(self, beta) if beta != 1 else self)


@row("aten.addmm.default")
def addmm(w, out, self, mat1, mat2, beta=1, alpha=1):
    return _with_addend(w, out, self, mm(w, out, mat1, mat2), beta, alpha)


@row("aten.addmv.default")
def addmv(w, out, self, mat, vec, beta=1, alpha=1):
    return _with_addend(w, out, self, mv(w, out, mat, vec), beta, alpha)


@row("aten.baddbmm.default")
def baddbmm(w, out, self, batch1, batch2, beta=1, alpha=1):
    return _with_addend(w, out, self, bmm(w, out, batch1, batch2), beta, alpha)


@row("aten.matmul.default")
def matmul(w, out, self, other):
    """Dims in front of the matrices line up at the end; one of 1, or none, is left out of its operand."""
    if self.rank == 0 or other.rank == 0:
        refuse("a product with a single number")
    a, b = w.cast(self, "f32"), w.cast(other, "f32")
    rows, columns = ("m" if a.rank > 1 else ""), ("n" if b.rank > 1 else "")
    batch = string.ascii_uppercase[: max(a.rank - 2, b.rank - 2, 0)]
    a, in_a = _without_units(w, a, batch, rows + "k")
    b, in_b = _without_units(w, b, batch, "k" + columns)
    kept = "".join(c for c in batch if c in in_a or c in in_b)
    result = w.matmul(f"{in_a},{in_b}->{kept}{rows}{columns}", a, b)
    return w.reshape(result, out.shape)


def _without_units(w, x: Value, batch: str, matrix: str) -> tuple[Value, str]:
    own = x.rank - len(matrix)
    letters = batch[len(batch) - own :] if own else ""
    kept = [i for i in range(own) if x.shape[i] != 1]
    x = w.reshape(x, tuple(x.shape[i] for i in kept) + x.shape[own:])
    return x, "".join(letters[i] for i in kept) + matrix


@row("aten.addbmm.default")
def addbmm(w, out, self, batch1, batch2, beta=1, alpha=1):
    product = w.node("einsum", [batch1, batch2], spec="bmk,bkn->mn")
    return w.spread(_with_addend(w, out, self, product, beta, alpha), out.shape)


@row("aten.bilinear.default")
def bilinear(w, out, input1, input2, weight, bias=None):
    """Each output is the sum of x1[i] weight[o, i, j] x2[j]."""
    rows = product(out.shape[:-1])
    a, b = (w.reshape(x, (rows, x.shape[-1])) for x in (input1, input2))
    half = w.node("einsum", [a, weight], spec="bi,oij->boj")
    result = w.reshape(w.node("einsum", [half, b], spec="boj,bj->bo"), out.shape)
    return result if bias is None else w.add(result, bias)


# ---- einsum


@row("aten.einsum.default")
def einsum(w, out, equation, tensors, path=None):
    """One product of two operands after the other, from the left. Before that a letter that an operand has twice is
    its diagonal, and a dim of 1 that spreads to another operand's is left out."""
    spec = _without_dots(equation.replace(" ", ""), tensors)
    inputs, output = spec.split("->")
    operands = [_without_repeats(w, w.cast(x, "f32"), part) for x, part in zip(tensors, inputs.split(","))]
    operands = _without_spread_dims(w, operands)
    found, letters = operands[0]
    for i, (x, more) in enumerate(operands[1:], 1):
        later = set(output).union(*(part for _, part in operands[i + 1 :]))
        kept = "".join(c for c in dict.fromkeys(letters + more) if c in later)
        kept = output if i == len(operands) - 1 and set(kept) == set(output) else kept
        found, letters = _pair(w, (found, letters), (x, more), kept), kept
    if letters != output:
        found = w.node("einsum", [found], spec=f"{letters}->{output}")
    return w.reshape(found, out.shape)


def _pair(w, a: tuple[Value, str], b: tuple[Value, str], kept: str) -> Value:
    """The product of two; of one without dims by plain multiplication."""
    for (number, none), (x, letters) in ((a, b), (b, a)):
        if not none:
            x = w.mul(x, number)
            return x if letters == kept else w.node("einsum", [x], spec=f"{letters}->{kept}")
    return w.node("einsum", [a[0], b[0]], spec=f"{a[1]},{b[1]}->{kept}")


def _without_repeats(w, x: Value, letters: str) -> tuple[Value, str]:
    while len(set(letters)) < len(letters):
        second = next(i for i, c in enumerate(letters) if c in letters[:i])
        first = letters.index(letters[second])
        on = w.point("eq", w.iota(x.shape, first), w.iota(x.shape, second))
        x = w.sum(w.select(on, x, 0.0), [second])
        letters = letters[:second] + letters[second + 1 :]
    return x, letters


def _without_spread_dims(w, operands: list[tuple[Value, str]]) -> list[tuple[Value, str]]:
    large = {c for x, letters in operands for c, size in zip(letters, x.shape) if size != 1}
    result = []
    for x, letters in operands:
        kept = [i for i, c in enumerate(letters) if not (x.shape[i] == 1 and c in large)]
        result.append((w.reshape(x, tuple(x.shape[i] for i in kept)), "".join(letters[i] for i in kept)))
    return result


def _without_dots(spec: str, operands) -> str:
    """Letters for the dims of the dots, which line up at the end, and the result that is implied."""
    inputs, arrow, output = spec.partition("->")
    parts = inputs.split(",")
    counts = [x.rank - (len(p) - 3) if "..." in p else 0 for p, x in zip(parts, operands)]
    free = [c for c in string.ascii_uppercase + string.ascii_lowercase if c not in spec]
    dots = "".join(free[: max(counts)])
    parts = [p.replace("...", dots[len(dots) - n :]) for p, n in zip(parts, counts)]
    if not arrow:
        joined = inputs.replace("...", "").replace(",", "")
        output = "..." * ("..." in inputs) + "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    return ",".join(parts) + "->" + output.replace("...", dots)
