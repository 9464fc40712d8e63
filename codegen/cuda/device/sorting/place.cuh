// The kernel of a radix sort that moves indices to their places by the digit kDigit.
// Requires: digits.cuh. C++ replaces the word KERNEL by the kernel's name.

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const int* indices, int* permutation, int* workspace, long long count_, long long rows_) {
  // Moves every index to its place by one digit, equal ones in their order: behind the indices of smaller digits,
  // those of earlier blocks and warps, and those before it in its warp. Sums of whole numbers have no order.
  __shared__ int counts[8][kBins];  // of each warp, then where its next index of each value goes
  __shared__ int next[kBins];       // the block's
  __shared__ int sums[8];
  const int count = (int)count_, rows = (int)rows_, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int blocks = (count + kChunk - 1) / kChunk;
  const int* const histogram = histogram_of(workspace, count, kDigit);
  int* const following = histogram_of(workspace, count, kDigit + 1);
  int* const to = (kDigits - kDigit) % 2 ? permutation : workspace;
  const int* const from = (kDigits - kDigit) % 2 ? workspace : permutation;

  constexpr int kEach = kBins > 256 ? kBins / 256 : 1;  // neighbouring values of a thread
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
  for (int first = chunk; first < end; first += 2048) {
    for (int i = threadIdx.x; i < 8 * kBins; i += 256) counts[i / kBins][i % kBins] = 0;
    const int mine = first + warp * 256 + lane;
    int position[8], index[8], rank[8];
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
      unsigned equal = __ballot_sync(0xFFFFFFFFu, inside);
#pragma unroll
      for (int bit = 0; bit < kBits; ++bit) {
        const bool set = value >> bit & 1;
        const unsigned votes = __ballot_sync(0xFFFFFFFFu, set);
        equal &= set ? votes : ~votes;
      }
      const int known = counts[warp][value], earlier = __popc(equal & ((1u << lane) - 1));
      rank[r] = known + earlier;
      __syncwarp(0xFFFFFFFFu);
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
