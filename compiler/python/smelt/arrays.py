"""Arrays of other libraries: those on a GPU, in the order of its streams, and token ids of other integers."""

from __future__ import annotations

import sys
from typing import Any, Iterable, Mapping, Optional

from .errors import Error

_CUDA = 2  # DLPack's number
_DEFAULT_STREAM = 1  # DLPack's, where 0 would be ambiguous


def is_on_gpu(array: Any) -> bool:
    if (is_cuda := getattr(array, "is_cuda", None)) is not None:
        return bool(is_cuda)  # of PyTorch's tensors, whose __dlpack_device__ is slow
    place = getattr(array, "__dlpack_device__", None)
    return place is not None and place()[0] == _CUDA


def _torch_stream(array: Any) -> Optional[int]:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor):
        return None
    return torch.cuda.current_stream(array.device).cuda_stream


def stream_handle(stream: Any, arrays: Iterable[Any] = ()) -> int:
    """The driver's handle of `stream`: a number, or a stream of PyTorch, CuPy or cuda.core. Where it is None, the
    current stream of PyTorch if one of the arrays is a tensor of PyTorch on a GPU, else 0, the default stream."""
    if stream is None:
        found = (_torch_stream(array) for array in arrays if is_on_gpu(array))
        return next((handle for handle in found if handle is not None), 0)
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return (protocol() if callable(protocol) else protocol)[1]
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return getattr(stream, name)
    if isinstance(stream, int) and not isinstance(stream, bool) and stream >= 0:
        return stream
    raise Error(f"stream: {stream!r} is no stream: expected a handle as a number, or one of PyTorch, CuPy or cuda.core")


def in_order(arrays: Mapping[str, Any], stream: int) -> dict[str, Any]:
    """The arrays, of which those on a GPU are ready for what `stream` is given from now on."""
    consumer = stream or _DEFAULT_STREAM
    return {name: a.__dlpack__(stream=consumer) if is_on_gpu(a) else a for name, a in arrays.items()}


def as_ids(ids: Any, dtype: str = "int32") -> Any:
    """Token ids as a NumPy array of i32, the type that plans take them in: of an array of any integers that is not on a
    GPU, or of lists of numbers. An array of i32 is returned as it is; a number that does not fit is a smelt.Error."""
    import numpy

    if is_on_gpu(ids):
        raise Error("ids: they lie on a GPU, where they would not be checked: give ids.cpu()")
    try:
        array = numpy.asarray(ids)
    except ValueError:
        raise Error("ids: the rows are of different lengths: expected an array's shape") from None
    if array.dtype.kind not in "iu":
        raise Error(f"ids: elements are {array.dtype}, expected integers")
    held = numpy.iinfo(dtype)
    if array.size and not held.min <= int(array.min()) <= int(array.max()) <= held.max:
        raise Error(f"ids: there are numbers that {dtype} does not hold")
    return numpy.asarray(array, dtype=dtype, order="C")
