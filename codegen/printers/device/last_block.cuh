// The function is_last_block, which detects whether a thread block is the last one of its launch to end.
// The last block then runs the kernel's last-block epilogue. A kernel that contains this text must not run
// in two launches concurrently, because the launches would share the counter.
// Requires: SM.

// Number of blocks of this launch that have ended. atomicInc sets it to 0 in the last block.
__device__ unsigned blocks_ended;

// Returns true to all threads of the block that calls it last, and false to the other blocks. All threads
// of a block call it, after their last writes. The first fence makes these writes visible to other blocks
// before the block is counted. The second fence makes the last block read what the other blocks have
// written. A launch of one block needs neither: a barrier makes a block's writes visible to its own threads.
SM bool is_last_block() {
  if (gridDim.x == 1) {
    __syncthreads();
    return true;
  }
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(&blocks_ended, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

