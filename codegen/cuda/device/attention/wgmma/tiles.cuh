// Copies of tiles by TMA, random numbers of the body, and work items.
// Requires: math.cuh, the constants of the kernel, kOps, wgmma/*.cuh and the body.


// One box of a [b,h,t,d] value; places outside of it are zero.
SM void copy_box(unsigned to, const TensorMap& map, int d, int t, int h, int b, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
      "l"(&map), "r"(d), "r"(t), "r"(h), "r"(b), "r"(barrier) : "memory");
}
// Rows of 128 bytes, whose 16-byte pieces are permuted by the row; 64 elements of the head a box.
SM void copy_rows(unsigned to, const TensorMap& map, int rows, int t, int h, int b, unsigned barrier) {
#pragma unroll
  for (int c = 0; c < kChunks; ++c) copy_box(to + c * rows * 128, map, 64 * c, t, h, b, barrier);
}

// Two rows of an accumulator become what rounding takes from them times their factors.
template <int n>
SM void leave_rest(float (&x)[n], const float (&factors)[2]) {
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] *= factors[i >> 1 & 1], x[i] -= low_of(pack(x[i], 0.0f));
}

// ---- the body
template <bool kUnmasked>
SM float modified_of(const BodyArguments& body, int b, int h, int t, int s, float score) {
  const unsigned draws[kOps] = {};
  float modified, factor;
  body_forward<kUnmasked>(body, b, h, t, s, draws, score, modified, factor);
  return modified;
}
// Which of a word's two numbers are kept, as the top bits of its halves: the numbers' low 15 bits are added to what makes a
// sum of those at the threshold, or beyond, reach the top bit.
SM unsigned kept_of(unsigned word) {
  constexpr unsigned low = kKeptFrom & 0x7FFF;
  const unsigned sum = (word & 0x7FFF7FFF) + (0x8000 - low) * 0x10001u;
  const unsigned from = kKeptFrom > 0xFFFF ? 0 : kKeptFrom > 0x7FFF ? sum & word : sum | word;
  return kKeepsFrom ? from : ~from;
}
// Halves filled with their top bits.
SM unsigned fill_halves(unsigned word) {
  unsigned filled;
  asm("prmt.b32 %0, %1, 0, 0xBB99;" : "=r"(filled) : "r"(word));
  return filled;
}
// ---- work items and tiles
// The next item: blocks take them in order. The block that comes last when nothing is left clears the counters.
SM int take_item(unsigned* tickets, int total) {
  int item = 0;
  if ((threadIdx.x & 31) == 0) {
    item = gridDim.x + atomicAdd(tickets, 1u);
    if (item >= total && atomicAdd(tickets + 1, 1u) == gridDim.x - 1) tickets[0] = 0, tickets[1] = 0;
  }
  return __shfl_sync(0xFFFFFFFFu, item, 0);
}
