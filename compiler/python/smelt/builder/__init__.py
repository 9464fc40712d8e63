"""Writes the nodes of a graph, for what imports programs of other libraries.

A Builder is made of layers: nodes (nodes.py), numbers as constants and tables (constants.py), integers and their widths
(integers.py), views (views.py), arithmetic on each element (arithmetic.py) and reductions (reductions.py). An importer
derives its own from it, with its rules of types.
"""

from .reductions import Reductions as Builder
from .values import Number, Value

__all__ = ["Builder", "Number", "Value"]
