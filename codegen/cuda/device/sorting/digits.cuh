// Digits and histograms of a radix sort. Indices outside of the rows count as `rows`, and come after all others.
// Requires: kDigits, kBits, kChunk and kDigit.

constexpr int kBins = 1 << kBits;  // values of a digit
__device__ __forceinline__ int digit_of(int index, int rows, int digit) {
  const int key = index >= 0 && index < rows ? index : rows;
  return key >> digit * kBits & (kBins - 1);
}
// For every digit, how often each value of it is in each block's chunk: behind a permutation, if there are two.
__device__ __forceinline__ int* histogram_of(int* workspace, int count, int digit) {
  const int blocks = (count + kChunk - 1) / kChunk;
  return workspace + (kDigits > 1 ? count : 0) + digit * blocks * kBins;
}
