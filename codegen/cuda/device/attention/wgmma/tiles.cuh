// Functions that the forward and the backward attention kernels for sm_90a share: TMA copies of tiles,
// rounding residuals, calls of the score_mod ("body", codegen/cuda/attention/attention_hooks.h), and the
// work item counter.
// Requires: math.cuh, the constants of the kernel, kOps (number of random ops of the score_mod, at least 1),
// the files of ../../wgmma and the body.


// Copies one TMA box of a matrix [b,h,t,d] (batch row, head, position, element of the head) to the shared
// memory address `to`. The box begins at element (b, h, t, d). It has 64 elements along d, and its number of
// positions along t is set in the map. Elements outside of the matrix become zeros. One lane calls it. The
// mbarrier at the address `barrier` counts the bytes that have been copied.
SM void copy_box(unsigned to, const TensorMap& map, int d, int t, int h, int b, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
      "l"(&map), "r"(d), "r"(t), "r"(h), "r"(b), "r"(barrier) : "memory");
}
// Copies `rows` positions from t on, with all kColumns elements along d, as kChunks boxes of 64 elements
// along d. The boxes follow each other in shared memory. A box is `rows` rows of 128 bytes with the 128-byte
// swizzle: the 16-byte unit u of row r is stored as unit u ^ (r & 7). One lane calls it.
SM void copy_rows(unsigned to, const TensorMap& map, int rows, int t, int h, int b, unsigned barrier) {
#pragma unroll
  for (int c = 0; c < kChunks; ++c) copy_box(to + c * rows * 128, map, 64 * c, t, h, b, barrier);
}

// Replaces each element x of an accumulator fragment by the rounding residual of x * factor: this product
// minus its 16-bit rounding. A lane has elements of two rows. Those of row r (0 or 1) are x[4 * g + 2 * r]
// and x[4 * g + 2 * r + 1] for all g, and their factor is factors[r].
template <int n>
SM void leave_rest(float (&x)[n], const float (&factors)[2]) {
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] *= factors[i >> 1 & 1], x[i] -= low_of(pack(x[i], 0.0f));
}

// ---- the score_mod
// Returns the modified score of query t and key s. score: scale * q . k. In these kernels the modified score
// never depends on random draws, so zeros are passed as draws. kUnmasked: the query sees the key, so the
// mask is not tested.
template <bool kUnmasked>
SM float modified_of(const BodyArguments& body, int b, int h, int t, int s, float score) {
  const unsigned draws[kOps] = {};
  float modified, factor;
  body_forward<kUnmasked>(body, b, h, t, s, draws, score, modified, factor);
  return modified;
}
// Returns whether two weights are kept by dropout. `word` has a 16-bit draw in each half. The top bit of a
// half of the result is 1 if the weight of that draw is kept. If kKeepsFrom is true, draws >= kKeptFrom keep
// their weights; if not, draws < kKeptFrom do. Both halves are compared at once: adding 0x8000 - low to the
// low 15 bits of a draw sets the top bit of the sum if these bits are at least `low`.
SM unsigned kept_of(unsigned word) {
  constexpr unsigned low = kKeptFrom & 0x7FFF;
  const unsigned sum = (word & 0x7FFF7FFF) + (0x8000 - low) * 0x10001u;
  const unsigned from = kKeptFrom > 0xFFFF ? 0 : kKeptFrom > 0x7FFF ? sum & word : sum | word;
  return kKeepsFrom ? from : ~from;
}
// Returns 0xFFFF in each half for which the top bit of that half of `word` is 1, and 0 in the other halves.
// The selector 0xBB99 of prmt repeats the sign of byte 1 in bytes 0 and 1, and the sign of byte 3 in bytes 2
// and 3.
SM unsigned fill_halves(unsigned word) {
  unsigned filled;
  asm("prmt.b32 %0, %1, 0, 0xBB99;" : "=r"(filled) : "r"(word));
  return filled;
}
// ---- work items
// Returns the number of the block's next work item to all lanes of the calling warp. If it is `total` or
// more, no item is left. The first item of a block is blockIdx.x, which needs no call. The others are taken
// in order from the counter tickets[0]. tickets[1] counts the blocks that found no item left. The last of
// these blocks sets both counters to zero for the next launch. One warp of a block calls it.
SM int take_item(unsigned* tickets, int total) {
  int item = 0;
  if ((threadIdx.x & 31) == 0) {
    item = gridDim.x + atomicAdd(tickets, 1u);
    if (item >= total && atomicAdd(tickets + 1, 1u) == gridDim.x - 1) tickets[0] = 0, tickets[1] = 0;
  }
  return __shfl_sync(0xFFFFFFFFu, item, 0);
}
