// The kernel of a radix sort that sorts by the digit kDigit. Each block moves the positions of one chunk of
// kChunk indices. Indices that have equal digits keep their order.
// Requires: digits.cuh. The host's code replaces the word KERNEL by the kernel's name.

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const int* indices, int* permutation, int* workspace, long long count_, long long rows_) {
  // A permutation holds positions in `indices`. This kernel moves the positions of its chunk: each one goes
  // after those with smaller digits and, among equal digits, after those of earlier blocks and warps and
  // those before it in its warp. The result is the same in every run, because threads add only integers.
  __shared__ int counts[8][kBins];  // per warp and value: the count, then the new position of the first index
  __shared__ int next[kBins];       // per value: the new position of the next index of this block
  __shared__ int sums[8];           // per warp, for the scan over threads
  const int count = (int)count_, rows = (int)rows_, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int blocks = (count + kChunk - 1) / kChunk;
  const int* const histogram = histogram_of(workspace, count, kDigit);
  int* const following = histogram_of(workspace, count, kDigit + 1);
  // Passes write to the permutation and to the workspace alternately; the last one writes to the permutation.
  int* const to = (kDigits - kDigit) % 2 ? permutation : workspace;
  const int* const from = (kDigits - kDigit) % 2 ? workspace : permutation;

  // Each thread has kEach adjacent values. `before` of a value: the number of indices with the thread's lower
  // values, and of those with this value in earlier blocks. all: of all indices with the thread's values.
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
  // A block moves 2,048 indices at a time. A warp has 256 adjacent ones, of which a lane has every 32nd.
  for (int first = chunk; first < end; first += 2048) {
    for (int i = threadIdx.x; i < 8 * kBins; i += 256) counts[i / kBins][i % kBins] = 0;
    const int mine = first + warp * 256 + lane;
    int position[8], index[8], rank[8];  // rank: the number of equal digits before it in the warp
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
      // equal: the lanes that have the same digit, found by a vote per bit
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
