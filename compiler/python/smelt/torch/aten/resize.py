"""Images of another size. Along each axis the result is a matrix times the input: PyTorch makes the matrix."""

from __future__ import annotations

import torch
from torch.nn import functional

from ..registry import refuse, row
from ..values import Value

LETTERS = "abcdef"


def matrix(kind: str, before: int, after: int, align_corners) -> torch.Tensor:
    """[after, before]: what resizing makes of each unit vector."""
    flat = torch.eye(before).reshape(before, 1, before, 1)
    options = {} if kind.startswith("nearest") else {"align_corners": bool(align_corners)}
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(kind, kind)
    return functional.interpolate(flat, size=(after, 1), mode=mode, **options)[:, 0, :, 0].T.contiguous()


def resized(w, x: Value, sizes, kind: str, align_corners=None) -> Value:
    for i, after in enumerate(sizes):
        axis = x.rank - len(sizes) + i
        before = x.shape[axis]
        if not isinstance(before, int) or not isinstance(after, int):
            refuse("an image whose size is a symbol")
        if before == after:
            continue
        letters = LETTERS[: x.rank]
        spec = f"{letters},z{letters[axis]}->{letters.replace(letters[axis], 'z')}"
        x = w.matmul(spec, x, w.table(matrix(kind, before, after, align_corners)))
    return x


def _resizing(kind: str, rank: int):
    def resize(w, out, input=None, output_size=None, align_corners=None, scale_factors=None, self=None, **_):
        sizes = (self if input is None else input).shape[-rank:]
        for before, after, scale in zip(sizes, out.shape[-rank:], scale_factors or ()):
            if before * scale != after:
                refuse(f"a scale of {scale}, which gives no whole size")
        return resized(w, self if input is None else input, out.shape[-rank:], kind, align_corners)

    return resize


for _name, _kind, _rank in (
    ("upsample_linear1d", "linear", 1),
    ("upsample_bilinear2d", "linear", 2),
    ("upsample_bicubic2d", "cubic", 2),
    ("upsample_nearest1d", "nearest", 1),
    ("upsample_nearest2d", "nearest", 2),
):
    row(f"aten.{_name}.default", f"aten.{_name}.vec")(_resizing(_kind, _rank))
