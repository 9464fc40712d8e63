// is_last_block, which finds the block of a launch that ends last. This block runs the kernel's last-block
// epilogue. A kernel with this text must not run in two launches concurrently, because they would share the
// counter.
// Requires: SM.

// Number of blocks that have ended. atomicInc sets it to 0 again in the last block, for the next launch.
__device__ unsigned blocks_ended;

// Returns whether all other blocks of the launch have called this function. All threads of a block call it,
// after their last writes. The first fence makes these writes visible before the block is counted. The second
// one makes the last block read what the others have written: it discards what the multiprocessor has cached.
SM bool is_last_block() {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(&blocks_ended, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

