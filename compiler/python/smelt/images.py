"""Files of images as the input of a model."""

from __future__ import annotations

import os
from typing import Iterable, Union

from . import _native
from ._native import Tensor

PathLike = Union[str, "os.PathLike[str]"]


def read_images(model: PathLike, files: Iterable[PathLike]) -> Tensor:
    """The input pixel_values of a model: f32 [files, channels, height, width]. JPEG and PNG files are decoded in parallel,
    and prepared as the model's preprocessor_config.json says."""
    if isinstance(files, (str, bytes, os.PathLike)):
        raise TypeError(f"read_images: files is one path, {str(files)!r}: expected a list of paths; write [path]")
    return _native.read_images(os.fspath(model), [os.fspath(file) for file in files])
