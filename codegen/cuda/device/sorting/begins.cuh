// The last kernel of a sort of row indices (runtime/plan/steps/sort_index.h). The previous kernels have
// stored in `permutation` the positions of the elements of `indices`, sorted by the elements' values. This
// kernel finds, for each row, where the positions of its index begin in `permutation`.
// Requires: nothing.

// Sets begins[row], for one row in [0, rows] per thread, to the first position of `permutation` whose index
// is at least `row`, by binary search. Indices outside of [0, rows) come after all others.
extern "C" __global__ void __launch_bounds__(256)
    smelt_sort_begins(const int* indices, const int* permutation, int* begins, long long count_,
                      long long rows_) {
  const int count = (int)count_, rows = (int)rows_, row = (int)(blockIdx.x * 256 + threadIdx.x);
  if (row > rows) return;
  int low = 0, high = count;
  while (low < high) {
    const int middle = low + (high - low) / 2, index = indices[permutation[middle]];
    const bool smaller = index >= 0 && index < row;
    low = smaller ? middle + 1 : low;
    high = smaller ? high : middle;
  }
  begins[row] = low;
}
