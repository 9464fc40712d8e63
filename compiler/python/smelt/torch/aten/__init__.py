"""The rows, by subject. Importing this package fills the table of `registry.py`."""

from . import (  # noqa: F401
    attention,
    complex,
    convolution,
    creation,
    ctc,
    distances,
    experts,
    fourier,
    indexing,
    linalg,
    logic,
    loss,
    margins,
    matmul,
    normalization,
    ordering,
    pointwise,
    pooling,
    random,
    reduction,
    resize,
    rounding,
    scan,
    scatter,
    shape,
    special,
    stated,
    trigonometry,
)

complex.register_partwise()
