// Functions for the kBlocks thread blocks of a cluster, which process one row of the input together (sm_90
// and later). Kernels that choose among the elements of a row, such as top-k and sampling, use them.
// Requires: kBlocks. The first file of the text of such a kernel (codegen/cuda/row_text.h).

// Returns the rank of this block in the cluster.
__device__ __forceinline__ int block_of_row() { return (int)(blockIdx.x % kBlocks); }
// Waits for all threads of the cluster, and makes their writes visible to one another.
__device__ __forceinline__ void row_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Returns the address of a variable in the shared memory of block number `block`. mine: the address of the
// variable in this block.
template <typename T>
__device__ __forceinline__ T* in_block(T* mine, int block) {
  T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(mine), "r"(block));
  return there;
}
