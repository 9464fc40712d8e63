// Digits and histograms of a radix sort of row indices, which are integers in [0, rows). Indices outside of
// this range are treated as `rows`, so they come after all others.
// Requires the constants kDigits, the number of digits; kBits, the bits per digit; kChunk, the number of
// indices that a block processes; and kDigit, the number of the digit that the kernel sorts by.

constexpr int kBins = 1 << kBits;  // number of values of a digit
// Returns digit number `digit` of an index. Digit 0 is the least significant one.
__device__ __forceinline__ int digit_of(int index, int rows, int digit) {
  const int key = index >= 0 && index < rows ? index : rows;
  return key >> digit * kBits & (kBins - 1);
}
// Returns the address of a digit's counts, which are an array [blocks][kBins] in the workspace. The array
// has, for each block, the number of times that each value of the digit occurs in the block's kChunk
// indices. `count` is the number of all indices. If there are several digits, the workspace begins with a
// permutation of `count` elements, and the counts of all digits follow.
__device__ __forceinline__ int* histogram_of(int* workspace, int count, int digit) {
  const int blocks = (count + kChunk - 1) / kChunk;
  return workspace + (kDigits > 1 ? count : 0) + digit * blocks * kBins;
}
