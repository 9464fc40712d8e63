// is_last_block: whether the caller's block is the one that ends last, for last-block epilogues.
// The last block sees the writes of all others on any path, because the fence after the count discards the cached data of the
// multiprocessor. The count restarts with the next launch; launches of one stream run one after the other.
// Requires: SM.

__device__ unsigned blocks_ended;

SM bool is_last_block() {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(&blocks_ended, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

