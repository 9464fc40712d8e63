// Weights of a tile of scores, and the gradients of the scores, for the kernels of the backward pass.
// The function `weigh` computes the weights, and `differentiate` the gradients. Only the second one needs the
// product of dO and V, so the tensor cores can compute this product during `weigh`.
// Requires: elements.cuh.


// Gradients of values that the score_mod reads: row, column, then element gradients (attention_hooks.h).
constexpr int kGradientCount = kRowGradients + kColumnGradients + kElementGradients;
constexpr int kGradientSlots = kGradientCount > 0 ? kGradientCount : 1;
// Accumulators of kChunk columns, which are processed at a time.
constexpr int kChunkTiles = kChunk / 8;
typedef Sums<kChunkTiles> Chunk;

// Returns lse * log2(e); or inf for a query that sees no key, which makes its weights 0.
SM float base2(float lse) { return lse == -infinity() ? infinity() : lse * kLog2e; }

// The lse of kQueries queries in shared memory, followed by their deltas, the sums of dO * O over a row.
constexpr int kQueries = kRowsAreKeys ? kColumns : kRows;
struct QueryValues {
  const float* lses;  // address of the lse of the lane's first query
  // Return the value of the query of element e of a cell; lse with base 2. kUnmasked: the query sees a key.
  template <bool kUnmasked>
  __device__ __forceinline__ float lse(const Cell& cell, int e) const {
    const float lse = lses[query_of({0, 0}, cell, e)];
    return kUnmasked ? lse * kLog2e : base2(lse);
  }
  __device__ __forceinline__ float delta(const Cell& cell, int e) const {
    return lses[kQueries + query_of({0, 0}, cell, e)];
  }
};

// Starts to copy QueryValues of the queries from `query` on to shared memory; zeros for those that do not
// exist. All threads of the block call this. Requires: kQueries <= kThreads.
SM void copy_values(unsigned to, const float* lse, const float* delta, const Head& head, int query) {
  if (kQueries < kThreads && threadIdx.x >= kQueries) return;
  const bool is_there = query + (int)threadIdx.x < head.queries;
  const long long row = row_of(head, query) + threadIdx.x;
  copy_number(to + 4 * threadIdx.x, lse + row, is_there);
  copy_number(to + 4 * (kQueries + threadIdx.x), delta + row, is_there);
}

// Sets weights to exp(modified score - lse), in all lanes of a warp. scores: products of Q and K. kUnmasked:
// the queries of the tile see all its keys; weights of rows that do not exist may have any value.
template <bool kUnmasked>
SM void weigh(Chunk& weights, Chunk& scores, const QueryValues& values, const BodyArguments& body,
              const Head& head, const Corner& corner, float scale) {
  for_elements<kChunkTiles, kDrawsInScore>(
      body, head, corner, [&](const Cell& cell, int e, int query, int key, const unsigned* draws) {
        const float score = at<kChunkTiles>(scores, cell, e), lse = values.lse<kUnmasked>(cell, e);
        at<kChunkTiles>(weights, cell, e) =
            exp2_of(kUnmasked && kPlainWhenUnmasked
                        ? score * (scale * kLog2e) - lse
                        : modified_score<kUnmasked>(scale * score, body, head, query, key, draws) - lse);
      });
}

// Replaces weights by weight * factor, which multiplies dO in dV, and the products of dO and V by the
// gradients of the scores. add(cell, e, gradients) takes the gradients of values that the score_mod reads.
template <typename Add>
SM void differentiate(Chunk& weights, Chunk& products, Chunk& scores, const QueryValues& values,
                      const BodyArguments& body, const Head& head, const Corner& corner, float scale,
                      const Add& add) {
  for_elements<kChunkTiles, (kDraws > 0)>(
      body, head, corner, [&](const Cell& cell, int e, int query, int key, const unsigned* draws) {
        float gradients[kGradientSlots], mixed, dscore;
        body_backward(body, head.b, head.h, min(query, head.queries - 1), min(key, head.keys - 1), draws,
                      scale * at<kChunkTiles>(scores, cell, e), at<kChunkTiles>(weights, cell, e),
                      at<kChunkTiles>(products, cell, e), values.delta(cell, e), mixed, dscore, gradients);
        at<kChunkTiles>(weights, cell, e) = mixed, at<kChunkTiles>(products, cell, e) = dscore;
        add(cell, e, gradients);
      });
}
