// Detection of the last of several blocks that end, in decode attention.
// Requires: the prelude.


// Returns true in the last of `count` blocks that call this with the same ticket, and false in the others.
// The ticket is a counter in device memory. It is 0 before the first of these calls and 0 again after the
// last. All threads of the block call this.
SM bool is_last_of(unsigned* ticket, unsigned count) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  // The stores of all threads are now visible to other blocks, so this block may be counted.
  if (threadIdx.x == 0) is_last = atomicInc(ticket, count - 1) == count - 1;
  __syncthreads();
  if (is_last) __threadfence();  // makes the earlier stores of the other blocks visible
  return is_last;
}
