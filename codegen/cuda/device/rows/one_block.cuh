// The blocks that share a row, where each row has one block: cluster.cuh has the same functions for several blocks.
// Requires: nothing. The first file of a kernel of rows (codegen/cuda/row_text.h).

constexpr int kBlocks = 1;
__device__ __forceinline__ int block_of_row() { return 0; }
__device__ __forceinline__ void row_sync() { __syncthreads(); }
template <typename T>
__device__ __forceinline__ T* in_block(T* mine, int) {
  return mine;
}
