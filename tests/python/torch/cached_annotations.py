"""Annotations of PyTorch that are evaluated at every call.

An export registers each of PyTorch's operations again, some thousand times, by a function whose inner function has
Callable[...] in its signature: a tenth of the time of an export of a small module. typing.Callable means the same as that of
collections.abc, and remembers what it has made.
"""

import typing

import torch._ops


def cache_annotations():
    torch._ops.Callable = typing.Callable
