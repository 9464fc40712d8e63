"""Fourier transforms as products with cosines and sines, and samples of images between their points."""

from __future__ import annotations

import numpy

from ..dims import is_known
from ..rows import row


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
    c, s = b.lift(c[:, :kept]), b.lift(s[:, :kept])
    letters = "abdefg"[: len(x.shape) - 2]

    def times(part, table):
        return b.matmul(f"{letters}j,jk->{letters}k", part, table)

    re = b.squeeze(b.slice(x, -1, 0, 1), -1)
    real, imaginary = times(re, c), times(re, s)
    if x.shape[-1] == 2:
        im = b.squeeze(b.slice(x, -1, 1, 1), -1)
        real, imaginary = b.sub(real, times(im, s)), b.add(imaginary, times(im, c))
    return b.concat([b.unsqueeze(real, -1), b.unsqueeze(imaginary, -1)], -1)


@row("DFT")
def dft(n, x):
    b = n.b
    axis = (n.number(2, -2) if n.version >= 20 else n.attribute("axis", 1)) % len(x.shape)
    count = int(n.number(1)) if n.has(1) else x.shape[axis]
    n.refuse_unless(is_known(count), f"a length of {count}")
    inverse, onesided = n.attribute("inverse", 0), n.attribute("onesided", 0)
    n.refuse_unless(not (inverse and onesided) or False, "inverse of a onesided transform")
    y = transform(b, b.move(x, axis, -2), count, inverse, onesided)
    return b.move(y, -2, axis)


@row("STFT")
def stft(n, x):
    b = n.b
    step = int(n.number(1))
    window = n.x(2)
    length = int(n.number(3)) if n.has(3) else window.shape[0]
    x = b.unsqueeze(x, -1) if len(x.shape) == 2 else x
    count = (x.shape[1] - length) // step + 1
    frames = b.windows(x, 1, length, step, 1, count)
    if window is not None:
        frames = b.mul(frames, b.reshape(window, (length, 1)))
    return transform(b, frames, length, False, n.attribute("onesided", 1))
