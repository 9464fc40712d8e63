// The functions of cluster.cuh for rows that have one thread block each. block_of_row returns the number of
// the block among those of its row, row_sync waits for all threads of the row, and in_block returns the
// address of a variable in the shared memory of one of its blocks.
// Requires: nothing. The first file of a kernel of rows (codegen/cuda/row_text.h).

constexpr int kBlocks = 1;
__device__ __forceinline__ int block_of_row() { return 0; }
__device__ __forceinline__ void row_sync() { __syncthreads(); }
template <typename T>
__device__ __forceinline__ T* in_block(T* mine, int) {
  return mine;
}
