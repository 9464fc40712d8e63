"""Products of matrices."""

from __future__ import annotations

import string

from ..dims import same
from ..registry import refuse, row
from ..values import Value


@row("aten.linear.default")
def linear(w, out, input, weight, bias=None):
    x = w.cast(input, "f32")
    if weight.rank != 2:
        return matmul(w, out, x, weight) if bias is None else w.add(matmul(w, out, x, weight), bias)
    operands = [x, weight] + ([bias] if bias is not None else [])
    return w.one("linear", operands, "f32", out.shape)


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
    kept = [i for i in range(own) if not same(x.shape[i], 1)]
    x = w.reshape(x, tuple(x.shape[i] for i in kept) + x.shape[own:])
    return x, "".join(letters[i] for i in kept) + matrix


@row("aten.einsum.default")
def einsum(w, out, equation, tensors, path=None):
    """Of two operands with no letter twice in one; Smelt has those, and what more there is PyTorch takes apart."""
    spec = equation.replace(" ", "")
    if "..." in spec:
        spec = _without_dots(spec, tensors)
    if "->" not in spec:
        spec += "->" + "".join(sorted(c for c in set(spec) - {","} if spec.count(c) == 1))
    inputs, output = spec.split("->")
    parts = inputs.split(",")
    if len(parts) > 2 or any(len(set(p)) != len(p) for p in parts):
        refuse(f"the product {equation} of {len(parts)} operands")
    operands = [w.cast(x, "f32") for x in tensors]
    return w.one("einsum", operands, "f32", out.shape, f'spec = "{spec}"')


def _without_dots(spec: str, operands) -> str:
    inputs = spec.split("->")[0].split(",")
    counts = [x.rank - (len(p) - 3) for p, x in zip(inputs, operands) if "..." in p]
    free = [c for c in string.ascii_uppercase if c not in spec]
    if len(set(counts)) > 1:
        refuse(f"the product {spec}, whose dots stand for different numbers of dims")
    return spec.replace("...", "".join(free[: counts[0]]))
