// The blocks that share a row, where the row has a cluster of kBlocks blocks (sm_90 and later).
// Requires: kBlocks. The first file of a kernel of rows (codegen/cuda/row_text.h).

__device__ __forceinline__ int block_of_row() { return (int)(blockIdx.x % kBlocks); }
__device__ __forceinline__ void row_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
template <typename T>
__device__ __forceinline__ T* in_block(T* mine, int block) {
  T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(mine), "r"(block));
  return there;
}
