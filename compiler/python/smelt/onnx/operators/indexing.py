"""Look-ups by computed places, and what puts numbers there."""

from __future__ import annotations

import numpy

from ...builder.sizes import is_known, product
from ...ranges import LIMITS
from ..rows import ML, Typed, row
from .reductions import product_of


def expect_rows(n, places, size):
    """An input that is looked up has numbers of rows: others are refused before anything runs."""
    port = places.port
    if port is not None and is_known(size):
        n.importer.expect(port, size)


@row("Gather", exact=True)
def gather(n, table, places):
    b = n.b
    axis = n.attribute("axis", 0) % len(table.shape)
    known = n.inputs[1]
    if hasattr(known, "array") and known.array.dtype != object and is_known(table.shape[axis]):
        size = table.shape[axis]
        n.refuse_unless(((known.array >= -size) & (known.array < size)).all(), f"indices outside of {size}")
        return b.gather(table, known.array % size if known.array.size else places, axis)
    expect_rows(n, places, table.shape[axis])
    return b.gather(table, b.from_front(places, table.shape[axis]), axis)


@row("ArrayFeatureExtractor", domain=ML, exact=True)
def array_feature_extractor(n, x, places):
    picked = n.b.gather(x, n.b.reshape(places, (product(places.shape),)), -1)
    return picked if len(x.shape) > 1 else n.b.unsqueeze(picked, 0)


def strides_of(shape):
    return [product(shape[i + 1 :]) for i in range(len(shape))]


def row_of(b, places, size):
    """The row that an index means: -1 is the last one, and any that there is not is an error."""
    return b.inside(b.from_front(b.places(places), size), size)


def flat_places(b, shape, axis, places):
    """Where each element lies among all of `shape`, when along `axis` it lies at `places`."""
    own = row_of(b, places, shape[axis])
    total = None
    for i, stride in enumerate(strides_of(shape)):
        if places.shape[i] == 1 and i != axis:
            continue
        term = b.mul(own if i == axis else b.iota(places.shape, i), stride)
        total = term if total is None else b.add(total, term)
    return total


@row("GatherElements", exact=True)
def gather_elements(n, x, places):
    b = n.b
    axis = n.attribute("axis", 0) % len(x.shape)
    return b.gather(b.reshape(x, (product(x.shape),)), flat_places(b, x.shape, axis, places), 0)


def flat_tuples(b, places, shape):
    """Of tuples of indices along the last axis, one number each."""
    total = None
    for i, (size, stride) in enumerate(zip(shape, strides_of(shape))):
        term = b.mul(row_of(b, b.squeeze(b.slice(places, -1, i, 1), -1), size), stride)
        total = term if total is None else b.add(total, term)
    return total


@row("GatherND", exact=True)
def gather_nd(n, x, places):
    b = n.b
    batch = n.attribute("batch_dims", 0)
    depth = places.shape[-1]
    inner = x.shape[batch : batch + depth]
    flat = flat_tuples(b, places, inner)
    for i in range(batch):
        flat = b.add(flat, b.mul(b.iota(flat.shape, i), product(x.shape[i + 1 : batch + depth])))
    rest = x.shape[batch + depth :]
    return b.gather(b.reshape(x, (product(x.shape[: batch + depth]),) + rest), flat, 0)


def scattered(n, x, flat, updates, how):
    """x[flat] = updates, rows of both; `how`: what two numbers become of one place."""
    b = n.b
    rows, width = x.shape
    count = product(flat.shape)
    flat, updates = b.reshape(flat, (count,)), b.reshape(updates, (count, width))
    if how == "none":
        kept = b.cast(x, "i32") if x.dtype == "bool" else x
        kept, updates = b.alike([kept, b.cast(updates, kept.dtype)])
        put = b.node("insert", [kept, updates, b.places(flat)], axis=0)
        return b.cast(put, x.dtype)
    if how == "add" and x.dtype == "f32":
        return b.node("scatter_add", [x, b.places(flat), updates], axis=0)
    n.refuse_unless(is_known(rows) and rows * count * width <= 2**20, f"reduction {how} of {rows} x {count} elements")
    hit = b.point("eq", b.iota((rows, count, 1), 0), b.reshape(flat, (1, count, 1)))
    if how == "mul":
        return b.mul(x, product_of(b, b.select(hit, b.unsqueeze(updates, 0), 1), [1], False))
    if how == "add":
        return b.add(x, b.reduce("add", b.select(hit, b.unsqueeze(updates, 0), 0), [1]))
    x, updates = b.alike([x, updates])
    extreme = 0 if how == "max" else 1
    none = (-numpy.inf, numpy.inf)[extreme] if x.dtype == "f32" else LIMITS[x.dtype][extreme]
    return b.point(how, x, b.reduce(how, b.select(hit, b.unsqueeze(updates, 0), none), [1]))


@row("ScatterElements", "Scatter")
def scatter_elements(n, x, places, updates):
    b = n.b
    axis = n.attribute("axis", 0) % len(x.shape)
    flat = flat_places(b, x.shape, axis, places)
    how = n.attribute("reduction", "none") if n.node.op_type == "ScatterElements" else "none"
    put = scattered(n, b.reshape(x, (product(x.shape), 1)), flat, updates, how)
    return b.reshape(put, x.shape)


@row("ScatterND")
def scatter_nd(n, x, places, updates):
    b = n.b
    depth = places.shape[-1]
    flat = flat_tuples(b, places, x.shape[:depth])
    rows = b.reshape(x, (product(x.shape[:depth]), product(x.shape[depth:])))
    return b.reshape(scattered(n, rows, flat, updates, n.attribute("reduction", "none")), x.shape)


@row("OneHot", out=None)
def one_hot(n, places):
    b = n.b
    depth = int(n.number(1))
    axis = n.attribute("axis", -1)
    rank = len(places.shape) + 1
    places = b.from_front(b.cast(places, "i32"), depth)
    shape = list(places.shape)
    shape.insert(axis % rank, depth)
    hit = b.point("eq", b.iota(tuple(shape), axis % rank), b.unsqueeze(places, axis % rank))
    values = n.x(2)
    off, on = (b.reshape(b.slice(values, 0, i, 1), ()) for i in range(2))
    return Typed(b.select(hit, on, off), n.element(2).name)


@row("Compress", exact=True)
def compress(n, x):
    """What is kept sets the size, so that it must be known."""
    b = n.b
    kept = numpy.flatnonzero(n.known(1))
    if not n.given("axis"):
        x = b.reshape(x, (product(x.shape),))
    return b.gather(x, kept, n.attribute("axis", 0))


@row("ReverseSequence", exact=True)
def reverse_sequence(n, x, lengths):
    b = n.b
    time, batch = n.attribute("time_axis", 0), n.attribute("batch_axis", 1)
    moved = b.transpose(x, [batch, time] + [i for i in range(len(x.shape)) if i not in (time, batch)])
    rows, count = moved.shape[:2]
    step = b.iota((rows, count), 1)
    lengths = b.unsqueeze(lengths, 1)
    places = b.select(b.point("lt", step, lengths), b.sub(b.sub(lengths, 1), step), step)
    flat = b.add(b.mul(b.iota((rows, count), 0), count), places)
    table = b.reshape(moved, (rows * count,) + moved.shape[2:])
    found = b.gather(table, flat, 0)
    order = [batch, time] + [i for i in range(len(x.shape)) if i not in (time, batch)]
    return b.transpose(found, [order.index(i) for i in range(len(order))])


@row("TensorScatter")
def tensor_scatter(n, x, update, begins):
    """Writes into a cache from one place on in each row of the batch."""
    b = n.b
    axis = n.attribute("axis", -2) % len(x.shape)
    moved, put = b.move(x, axis, 1), b.move(update, axis, 1)
    rows, size, count = x.shape[0], moved.shape[1], put.shape[1]
    first = b.constant(0, "i32", (rows,)) if begins is None else begins
    place = b.sub(b.iota((rows, size), 1), b.unsqueeze(first, 1))
    if n.attribute("mode", "linear") == "circular":
        place = b.select(b.point("lt", place, 0), b.add(place, size), place)
    inside = b.point("logical_and", b.point("ge", place, 0), b.point("lt", place, count))
    flat = b.add(b.mul(b.iota((rows, size), 0), count), b.select(inside, place, 0))
    found = b.gather(b.reshape(put, (rows * count,) + put.shape[2:]), flat, 0)
    inside = b.reshape(inside, (rows, size) + (1,) * (len(x.shape) - 2))
    return b.move(b.select(inside, found, moved), 1, axis)
