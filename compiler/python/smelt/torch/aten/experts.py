"""Products of rows that are sorted by expert, each with its expert's matrix."""

from __future__ import annotations

import math

from ...builder import Value
from ...builder.sizes import Size, floor_div
from ..registry import refuse, row
from .scan import running_sum

ROWS_WITHOUT_BOUND = 64
"""Of a block, where nothing says how many rows there are at most."""
COPY = 16
"""What it costs to copy an element of a matrix, in additions and multiplications: measured on a CPU."""
MOST_BLOCKS = 4
"""That an expert's share of the rows fills."""


@row("aten._grouped_mm.default")
def grouped_mm(w, out, self, mat2, offs=None, bias=None, out_dtype=None):
    if self.rank != 2 or mat2.rank != 3 or offs is None or bias is not None:
        refuse("groups other than of rows, each with a matrix")
    return _Groups(w, self, mat2, w.places(offs)).product()


@row("transformers.grouped_mm_fallback.default")
def grouped_mm_of_transformers(w, out, input, weight, offs):
    return grouped_mm(w, out, input, weight, offs)


class _Groups:
    """Rows are cut into blocks of equally many, such that a block is of one expert, and blocks are multiplied by copies
    of their experts' matrices. An expert's last block may have rows to spare, so there is up to one more block for each
    expert than the rows alone would fill: cost follows the rows of all experts together. Rows to spare are zeros."""

    def __init__(self, w, x: Value, matrices: Value, ends: Value) -> None:
        self.w, self.x, self.matrices, self.ends = w, x, matrices, ends
        self.experts = matrices.shape[0]
        self.rows = self._rows_of_block()
        self.blocks = self._most_blocks()
        self.places = self.blocks * self.rows

    def _rows_of_block(self) -> int:
        """Long blocks need few copies of matrices and have many rows to spare. Of an expert's share of n rows, blocks
        of R rows make n / R copies and R rows to spare, which cost COPY * n / R + 2 * R for each element of a matrix:
        least at a root. More than MOST_BLOCKS copies would take too much memory."""
        most = self.w.ranges.most(self.x.shape[0])
        if most is None:
            return ROWS_WITHOUT_BOUND
        share = most // self.experts
        rows = min(share, max(share // MOST_BLOCKS, math.isqrt(COPY * share // 2)))
        return 1 << (max(rows, 1) - 1).bit_length()  # the next power of two

    def _most_blocks(self) -> Size:
        """Each expert's rows and those that it has to spare fill whole blocks."""
        spare = self.experts * (self.rows - 1)
        return floor_div(self.x.shape[0] + spare, self.rows)

    def product(self) -> Value:
        w, width = self.w, self.x.shape[1]
        begins = w.concat([w.constant(0, "i32", (1,)), w.slice(self.ends, 0, 0, self.experts - 1)], 0)
        counts = w.sub(self.ends, begins)
        needed = w.div(w.add(counts, self.rows - 1), w.constant(self.rows, "i32", counts.shape))
        places = self._places_of_rows(w.sub(w.mul(needed, self.rows), counts))
        given = self._put(places)
        blocks = self._product_of_blocks(w.reshape(given, (self.blocks, self.rows, width)), needed)
        return w.gather(w.reshape(blocks, (self.places, blocks.shape[2])), places, 0)

    def _places_of_rows(self, spare: Value) -> Value:
        """A row is moved by what the experts that have ended in front of it have to spare."""
        w, count = self.w, self.x.shape[0]
        table = (count, self.experts)
        ended = w.cast(w.point("ge", w.iota(table, 0), w.broadcast(self.ends, [1], table)), "i32")
        moved = w.sum(w.mul(ended, w.broadcast(spare, [1], table)), [1])
        places = w.add(w.iota((count,), 0), moved)
        last = w.operand(self.places - 1, "i32", (count,))
        return w.point("max", w.point("min", places, last), 0)  # as they are, for all ends that ascend

    def _put(self, places: Value) -> Value:
        w, shape = self.w, (self.places, self.x.shape[1])
        zeros = w.constant(0, "f32", shape)
        result = w.node("scatter", [zeros, places, self.x], axis=0, unique=True)
        result.grad = self.x.grad
        return result

    def _product_of_blocks(self, given: Value, needed: Value) -> Value:
        w, matrices = self.w, self.matrices
        expert, spec = self._expert_of_block(running_sum(w, needed, 0)), "nrk,nko->nro"
        if matrices.turned is not None and matrices.turned[1] == (0, 2, 1):
            matrices, spec = matrices.turned[0], "nrk,nok->nro"
        return w.matmul(spec, given, w.gather(matrices, expert, 0))

    def _expert_of_block(self, ends: Value) -> Value:
        """The number of experts whose blocks have ended; blocks behind all of them are of the last expert."""
        w, table = self.w, (self.blocks, self.experts)
        ended = w.point("ge", w.iota(table, 0), w.broadcast(ends, [1], table))
        expert = w.point("min", w.sum(w.cast(ended, "i32"), [1]), self.experts - 1)
        expert.low = 0
        return expert
