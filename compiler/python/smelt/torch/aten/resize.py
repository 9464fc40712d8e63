"""Images of another size. Along each axis the result is a matrix times the input: PyTorch makes the matrix."""

from __future__ import annotations

import torch
from torch.nn import functional

from ...builder import Value
from ..registry import refuse, row

LETTERS = "abcdef"


def matrix(kind: str, before: int, after: int, align_corners, scale=None) -> torch.Tensor:
    """[after, before]: what resizing makes of each unit vector. A kind that ends in "_aa" is smoothed."""
    flat = torch.eye(before).reshape(before, 1, before, 1).repeat(1, 1, 1, 2)  # of one column PyTorch smooths wrongly
    smooth, kind = kind.endswith("_aa"), kind.removesuffix("_aa")
    options = {} if kind.startswith("nearest") else {"align_corners": bool(align_corners), "antialias": smooth}
    size = {"size": (after, 2)} if scale is None else {"scale_factor": (scale, 1.0)}
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(kind, kind)
    return functional.interpolate(flat, mode=mode, **size, **options)[:, 0, :, 0].T.contiguous()


def resized(w, x: Value, sizes, kind: str, align_corners=None, scales=None) -> Value:
    """`scales` are those that PyTorch computes places with, where the sizes are not given alone."""
    for i, after in enumerate(sizes):
        axis = x.rank - len(sizes) + i
        before = x.shape[axis]
        if not isinstance(before, int) or not isinstance(after, int):
            refuse("an image whose size is a symbol")
        scale = scales[i] if scales else None
        scale = None if scale is None or before * scale == after else float(scale)
        if before == after and scale is None:
            continue
        table = matrix(kind, before, after, align_corners, scale)
        if table.shape[0] != after:
            refuse(f"a scale of {scale} together with another size")
        letters = LETTERS[: x.rank]
        spec = f"{letters},z{letters[axis]}->{letters.replace(letters[axis], 'z')}"
        x = w.matmul(spec, x, w.table(table))
    return x


def _resizing(kind: str, rank: int):
    def resize(w, out, input=None, output_size=None, align_corners=None, scale_factors=None, self=None, **scales):
        x = self if input is None else input
        given = scale_factors or [scales.get(f"scales_{c}") for c in "dhw"[-rank:]]
        if rank == 1 and not scale_factors:
            given = [scales.get("scales")]
        return resized(w, x, out.shape[-rank:], kind, align_corners, given)

    return resize


for _name, _kind, _rank in (
    ("upsample_linear1d", "linear", 1),
    ("upsample_bilinear2d", "linear", 2),
    ("upsample_trilinear3d", "linear", 3),
    ("upsample_bicubic2d", "cubic", 2),
    ("_upsample_bilinear2d_aa", "linear_aa", 2),
    ("_upsample_bicubic2d_aa", "cubic_aa", 2),
    ("upsample_nearest1d", "nearest", 1),
    ("upsample_nearest2d", "nearest", 2),
    ("upsample_nearest3d", "nearest", 3),
    ("_upsample_nearest_exact1d", "nearest-exact", 1),
    ("_upsample_nearest_exact2d", "nearest-exact", 2),
    ("_upsample_nearest_exact3d", "nearest-exact", 3),
):
    row(f"aten.{_name}.default", f"aten.{_name}.vec")(_resizing(_kind, _rank))
