// The first kernel of a radix sort of indices. Each block processes one chunk of the indices, and counts
// how often each value of their least significant digit occurs.
// Requires: digits.cuh. The host's code replaces the word KERNEL by the kernel's name.

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const int* indices, int* workspace, long long count_, long long rows_) {
  // Counts how often each value of digit 0 occurs in the chunk of the block, which has kChunk indices. The
  // counts of the other digits are set to 0; place.cuh adds to them when it moves indices to a chunk.
  __shared__ int counts[kBins];
  const int count = (int)count_, rows = (int)rows_, first = (int)blockIdx.x * kChunk;
  const int end = count - first < kChunk ? count : first + kChunk;
  for (int i = threadIdx.x; i < kBins; i += 256) counts[i] = 0;
  __syncthreads();
  for (int i = first + threadIdx.x; i < end; i += 256) atomicAdd(&counts[digit_of(indices[i], rows, 0)], 1);
  __syncthreads();
  for (int digit = 0; digit < kDigits; ++digit)
    for (int i = threadIdx.x; i < kBins; i += 256)
      histogram_of(workspace, count, digit)[blockIdx.x * kBins + i] = digit == 0 ? counts[i] : 0;
}
