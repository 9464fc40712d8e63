// The last kernel of a sort of row indices (runtime/plan/steps/sort_index.h). The array `indices` has
// `count` row indices. The previous kernels have sorted the positions of this array by the row index at each
// position, and have stored them in `permutation`. For each row, this kernel finds where the positions of
// the row begin in `permutation`.
// Requires: nothing.

// Each thread sets begins[row] for one row from 0 to `rows`. The result is the first i for which the row
// index at position permutation[i] is at least `row`. It is found by binary search. Indices outside of [0,
// rows) count as larger than all rows.
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
