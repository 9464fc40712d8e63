// The functions of cluster.cuh for kernels in which one thread block processes a row. block_of_row returns
// the number of the block among the blocks of its row, row_sync waits for all threads of these blocks, and
// in_block returns the address of a variable in the shared memory of one of them.
// Requires: nothing. The first file of a kernel that uses these functions (codegen/cuda/row_text.h).

constexpr int kBlocks = 1;
__device__ __forceinline__ int block_of_row() { return 0; }
__device__ __forceinline__ void row_sync() { __syncthreads(); }
template <typename T>
__device__ __forceinline__ T* in_block(T* mine, int) {
  return mine;
}
