// Results of parts of the keys, and their merge in ascending order, for few queries whose sums have the order
// of mma/parts.cuh.
// Requires: mma/parts.cuh and rows.cuh.

// kResultPitch: floats per row of a result, which has kBlockRows rows. A row has kHead sums of weight *
// value, then the base, and then the sum of the weights.
constexpr int kResultPitch = kHead + 2, kResultFloats = kBlockRows * kResultPitch;
// kTurns: warps that have the same rows. They take the parts in turn, and a round is a part per warp.
// kOwners: threads that merge the results, each of some elements. kOwned: elements per thread.
constexpr int kTurns = kSharers * kWarps, kOwners = (kHasTickets ? 1 : kSharers) * kThreads;
constexpr int kOwned = (kBlockRows * kHead + kOwners - 1) / kOwners;

// Stores the result of a part. All lanes of a warp call this.
SM void leave_result(float* to, const Softmax& part, const Sums<kPart / 8>& sums) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = 8 * half + lane_row();
    const float weights = sum_of_quad(part.weights[0][half]);
    if (row >= kBlockRows) continue;
    float* const at = to + row * kResultPitch;
#pragma unroll
    for (int n = 0; n < kPart / 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = 8 * n + lane_column() + e;
        if (kHead == kPart || column < kHead) at[column] = sums[0][n][2 * half + e];
      }
    if (lane_column() == 0) at[kHead] = part.base[0][half], at[kHead + 1] = weights;
  }
}

// The totals of the parts so far, in shared memory. merges: how each result of a round is added to the total
// of each row. factors: what turns a row's sums into its result (result_factor). sums: the elements that a
// thread merges are kThreads floats apart.
struct SharedTotals {
  Merge (*merges)[kTurns];
  float *factors, *sums;
};
// The base and the sum of weights of the row with the thread's number.
struct RowTotal {
  float base, weights;
};

// Merges the results of a round. count: parts of the round. result_of(i) returns the address of the result of
// its part number i. owner: number of the thread among the kOwners threads that merge. put(row, column, sum):
// called for each element after the last part of the keys (is_last). All threads of the block call this.
template <typename ResultOf, typename Put>
SM void merge_round(const SharedTotals& totals, RowTotal& own, const Rows& rows, int count, bool is_last,
                    int owner, const ResultOf& result_of, const Put& put) {
  const int row_of_thread = threadIdx.x;
  if (row_of_thread < rows.count) {
#pragma unroll 4
    for (int i = 0; i < count; ++i) {
      const float* const result = result_of(i) + row_of_thread * kResultPitch;
      const Merge merge = merge_of(own.base, result[kHead]);
      own.weights = merged(merge, own.weights, result[kHead + 1]), own.base = merge.base;
      totals.merges[row_of_thread][i] = merge;
    }
    totals.factors[row_of_thread] = result_factor(own.weights);
  }
  __syncthreads();
  for (int i = 0; i < kOwned; ++i) {
    const int element = owner + i * kOwners, row = element / kHead, column = element % kHead;
    if (row >= rows.count) break;
    float& kept = totals.sums[i * kThreads + (int)threadIdx.x];
    float total = kept;
#pragma unroll 8
    for (int part = 0; part < count; ++part)
      total = merged(totals.merges[row][part], total, result_of(part)[row * kResultPitch + column]);
    kept = total;
    if (is_last) put(row, column, total * totals.factors[row]);
  }
  __syncwarp(~0u);
}
