"""The rows of the table, by subject: importing this package fills it."""

from . import (  # noqa: F401
    attention,
    casts,
    control,
    indexing,
    integers,
    losses,
    norms,
    pointwise,
    products,
    quantization,
    recurrent,
    reductions,
    resize,
    sampling,
    sequences,
    shapes,
    signals,
    training,
    trees,
    windows,
)
