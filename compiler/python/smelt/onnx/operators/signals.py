"""Fourier transforms as products with cosines and sines, and the weights of mel scales."""

from __future__ import annotations

import math

import numpy

from ...builder.sizes import is_known
from ..call import Known
from ..rows import row
from ..types import element


def rotations(count, size, inverse):
    """cos and sin of 2 pi jk / count, for what enters as [size] and leaves as [count]."""
    angle = 2 * numpy.pi * numpy.outer(numpy.arange(size), numpy.arange(count)) / count
    sign = 1 if inverse else -1
    scale = 1 / count if inverse else 1
    return (numpy.cos(angle) * scale).astype(numpy.float32), (sign * numpy.sin(angle) * scale).astype(numpy.float32)


def transform(b, x, count, inverse, onesided):
    """Along the axis before the last one, which holds the real part alone or both."""
    size = min(x.shape[-2], count)
    x = b.slice(x, -2, 0, size)
    c, s = rotations(count, size, inverse)
    kept = count // 2 + 1 if onesided else count
    c, s = b.operand(c[:, :kept]), b.operand(s[:, :kept])
    re = b.squeeze(b.slice(x, -1, 0, 1), -1)
    real, imaginary = times(b, re, c), times(b, re, s)
    if x.shape[-1] == 2:
        im = b.squeeze(b.slice(x, -1, 1, 1), -1)
        real, imaginary = b.sub(real, times(b, im, s)), b.add(imaginary, times(b, im, c))
    return b.concat([b.unsqueeze(real, -1), b.unsqueeze(imaginary, -1)], -1)


@row("DFT")
def dft(n, x):
    b = n.b
    axis = (n.number(2, -2) if n.version >= 20 else n.attribute("axis", 1)) % len(x.shape)
    n.refuse_unless(is_known(x.shape[axis]), f"a length of {x.shape[axis]}")
    count = length_of(n, x.shape[axis])
    inverse, onesided = n.attribute("inverse", 0), n.attribute("onesided", 0)
    x = b.move(x, axis, -2)
    y = inverse_onesided(b, x, count) if inverse and onesided else transform(b, x, count, inverse, onesided)
    return b.move(y, -2, axis)


def length_of(n, size):
    """The operand, else the number of elements; a onesided spectrum is taken as that of an even number of them."""
    if n.has(1):
        return int(n.number(1))
    return 2 * (size - 1) if n.attribute("inverse", 0) and n.attribute("onesided", 0) else size


def inverse_onesided(b, x, count):
    """Real numbers of half of a spectrum: each frequency stands for itself and for its mirror image, if it has one."""
    size = min(x.shape[-2], count // 2 + 1)
    x = b.slice(x, -2, 0, size)
    frequency = numpy.arange(size)
    twice = numpy.where((frequency == 0) | (2 * frequency == count), 1, 2)[:, None]
    c, s = (b.operand((table * twice).astype(numpy.float32)) for table in rotations(count, size, True))
    parts = [b.squeeze(b.slice(x, -1, i, 1), -1) for i in range(x.shape[-1])]
    y = times(b, parts[0], c)
    y = b.sub(y, times(b, parts[1], s)) if len(parts) > 1 else y
    return b.unsqueeze(y, -1)


def times(b, part, table):
    """Product along the last axis."""
    letters = "abdefg"[: len(part.shape) - 1]
    return b.matmul(f"{letters}j,jk->{letters}k", part, table)


@row("STFT")
def stft(n, x):
    b = n.b
    step = int(n.number(1))
    window = n.x(2)
    length = int(n.number(3)) if n.has(3) else window.shape[0]
    x = b.unsqueeze(x, -1) if len(x.shape) == 2 else x
    count = (x.shape[1] - length) // step + 1
    frames = b.windows(x, 1, count, length, step)
    if window is not None:
        frames = b.mul(frames, b.reshape(window, (length, 1)))
    return transform(b, frames, length, False, n.attribute("onesided", 1))


@row("MelWeightMatrix", out=None, folds=False)
def mel_weights(n):
    """[spectrum, bins]: triangles, each from the center of the one before it to that of the next one."""
    count, length, rate, low, high = (n.number(i) for i in range(5))
    kind = element(n.attribute("output_datatype", 1), n.importer.doubles)
    edges = frequencies(int(count), int(length), rate, low, high)
    place = numpy.arange(length // 2 + 1)[:, None]
    begin, center, end = edges[:-2], edges[1:-1], edges[2:]
    rising = numpy.where(center > begin, (place - begin) / numpy.maximum(center - begin, 1), 1)
    falling = (end - place) / numpy.maximum(end - center, 1)
    weights = numpy.where((place >= begin) & (place <= center), rising, 0)
    weights = numpy.where((place >= center) & (place < end), falling, weights)
    return Known(weights.astype(kind.numpy), kind, n.depends)


def frequencies(count, length, rate, low, high):
    """Places in the spectrum that are as far from each other on the mel scale."""
    first, last = (2595 * math.log1p(hertz / 700) / math.log(10) for hertz in (low, high))
    mels = first + numpy.arange(count + 2) * (last - first) / (count + 2)
    return numpy.floor((length + 1) * 700 * numpy.expm1(mels / 2595 * math.log(10)) / rate).astype(int)
