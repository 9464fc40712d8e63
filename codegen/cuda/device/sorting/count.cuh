// The first kernel of a radix sort of indices. The indices are divided into chunks of kChunk, one per
// block. Each block counts how often each value of digit 0, the least significant one, occurs in its chunk.
// Requires: digits.cuh. The host's code replaces the word KERNEL by the kernel's name.

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const int* indices, int* workspace, long long count_, long long rows_) {
  // The counts are written to `workspace` (histogram_of in digits.cuh). Those of the other digits are set
  // to 0; the next kernels (place.cuh) add to them. `count` is the number of indices. They are expected in
  // [0, rows); others are treated as `rows`.
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
