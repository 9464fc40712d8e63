// A kernel of a radix sort of indices. It sorts by digit number kDigit of the indices. There is one such
// kernel per digit, and the one for the least significant digit runs first. The sort is stable: indices that
// have equal digits keep their order. The indices are divided into chunks of kChunk, one per block.
// Requires: digits.cuh. The host's code replaces the word KERNEL by the kernel's name.

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const int* indices, int* permutation, int* workspace, long long count_, long long rows_) {
  // The kernel sorts a permutation: an array of positions in `indices`. Each block moves the positions of
  // its chunk to their new places: after all positions whose indices have smaller digits, and after all
  // those with equal digits that precede them in the current order. The result is the same in every run.
  __shared__ int counts[8][kBins];  // per warp and value of the digit: a count, then the first new place
  __shared__ int next[kBins];       // per value: the new place of the next position that this block moves
  __shared__ int sums[8];           // sums of the warps, for the scan over threads
  const int count = (int)count_, rows = (int)rows_, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int blocks = (count + kChunk - 1) / kChunk;
  const int* const histogram = histogram_of(workspace, count, kDigit);
  int* const following = histogram_of(workspace, count, kDigit + 1);
  // The kernels for successive digits write to `permutation` and to `workspace` alternately, so that the
  // last one writes to `permutation`.
  int* const to = (kDigits - kDigit) % 2 ? permutation : workspace;
  const int* const from = (kDigits - kDigit) % 2 ? workspace : permutation;

  // Each thread handles kEach adjacent values of the digit. all: the number of indices that have one of
  // these values. before[e]: how many of these indices come before the indices of this block that have value
  // number e. They are all indices with lower values of this thread, and the indices of earlier blocks with
  // value number e. `begin` below: the number of indices that have values of earlier threads.
  constexpr int kEach = kBins > 256 ? kBins / 256 : 1;
  int before[kEach], all = 0;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int value = threadIdx.x * kEach + e;
    int earlier = 0, total = 0;
    if (value < kBins) {
#pragma unroll 8
      for (int b = 0; b < blocks; ++b) {
        const int n = histogram[b * kBins + value];
        earlier += b < (int)blockIdx.x ? n : 0;
        total += n;
      }
    }
    before[e] = all + earlier;
    all += total;
  }
  int upto = all;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const int below = __shfl_up_sync(0xFFFFFFFFu, upto, d);
    upto += lane >= d ? below : 0;
  }
  if (lane == 31) sums[warp] = upto;
  __syncthreads();
  int begin = upto - all;
  for (int w = 0; w < warp; ++w) begin += sums[w];
#pragma unroll
  for (int e = 0; e < kEach; ++e)
    if (threadIdx.x * kEach + e < kBins) next[threadIdx.x * kEach + e] = begin + before[e];

  const int chunk = (int)blockIdx.x * kChunk, end = count - chunk < kChunk ? count : chunk + kChunk;
  // A block moves 2,048 positions at a time. Each of its 8 warps has 256 adjacent ones, and lane i has
  // those with the numbers i, i + 32, i + 64, ... of the warp.
  for (int first = chunk; first < end; first += 2048) {
    for (int i = threadIdx.x; i < 8 * kBins; i += 256) counts[i / kBins][i % kBins] = 0;
    const int mine = first + warp * 256 + lane;
    int position[8], index[8], rank[8];  // rank: earlier positions of the warp with the same digit
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const int i = mine + 32 * r;
      position[r] = kDigit == 0 || i >= end ? i : from[i];
    }
#pragma unroll
    for (int r = 0; r < 8; ++r) index[r] = mine + 32 * r < end ? indices[position[r]] : -1;
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const int value = digit_of(index[r], rows, kDigit);
      const bool inside = mine + 32 * r < end;
      // equal: the lanes that have the same value, found by one vote per bit
      unsigned equal = __ballot_sync(0xFFFFFFFFu, inside);
#pragma unroll
      for (int bit = 0; bit < kBits; ++bit) {
        const bool set = value >> bit & 1;
        const unsigned votes = __ballot_sync(0xFFFFFFFFu, set);
        equal &= set ? votes : ~votes;
      }
      const int known = counts[warp][value], earlier = __popc(equal & ((1u << lane) - 1));
      rank[r] = known + earlier;
      __syncwarp(0xFFFFFFFFu);  // all lanes have read the count before one of them changes it
      if (inside && earlier == 0) counts[warp][value] = known + __popc(equal);
      __syncwarp(0xFFFFFFFFu);
    }
    __syncthreads();
    for (int value = threadIdx.x; value < kBins; value += 256) {
      int at = next[value];
#pragma unroll
      for (int w = 0; w < 8; ++w) {
        const int n = counts[w][value];
        counts[w][value] = at;
        at += n;
      }
      next[value] = at;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      if (mine + 32 * r >= end) continue;
      const int place = counts[warp][digit_of(index[r], rows, kDigit)] + rank[r];
      to[place] = position[r];
      if (kDigit + 1 < kDigits)
        atomicAdd(&following[place / kChunk * kBins + digit_of(index[r], rows, kDigit + 1)], 1);
    }
    __syncthreads();
  }
}
