// Partial results of decode attention: those of some of the keys of a block.
// Requires: layout.cuh.


// A part of the keys of a block: keys first to end - 1. next: the first key of the part that the block
// processes after it. last: the end of all keys of the block.
struct Part {
  int first, end, next, last;
};

// The result of some keys for one row and one column of the head: the base, the sum of the weights, and the
// sum of weight * value.
struct Whole {
  float base, weights, sum;
};
// Returns one column of a row of a partial result. part: the address of the row.
SM Whole whole_of(const float* part, int column) { return {part[kHead], part[kHead + 1], part[column]}; }
// Adds `more`, the result of other keys, to `whole`.
SM void add(Whole& whole, const Whole& more) {
  const float base = fmaxf(whole.base, more.base), factor = below(whole.base, base),
              other = below(more.base, base);
  whole.weights = fmaf(other, more.weights, factor * whole.weights);
  whole.sum = fmaf(other, more.sum, factor * whole.sum);
  whole.base = base;
}
