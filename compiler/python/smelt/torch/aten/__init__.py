"""The rows, by subject. Importing this package fills the table of `registry.py`."""

from . import (  # noqa: F401
    attention,
    complex,
    convolution,
    creation,
    experts,
    indexing,
    logic,
    loss,
    matmul,
    normalization,
    pointwise,
    random,
    reduction,
    resize,
    rounding,
    scan,
    scatter,
    shape,
    stated,
)

complex.register_partwise()
