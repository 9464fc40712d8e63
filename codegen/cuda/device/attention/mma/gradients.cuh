// Weights and their gradients from the two products, for the kernels of the backward pass.
// There are two steps, because the products that the second step needs can be computed during the first.
// Requires: elements.cuh.


constexpr int kGradientCount = kRowGradients + kColumnGradients + kElementGradients;
constexpr int kGradientSlots = kGradientCount > 0 ? kGradientCount : 1;
constexpr int kChunkTiles = kChunk / 8;
typedef Sums<kChunkTiles> Chunk;

// Log-sum-exps in base 2; where no key is seen, one that makes all weights 0.
SM float base2(float lse) { return lse == -infinity() ? infinity() : lse * kLog2e; }

// Log-sum-exps of a tile's queries in shared memory, and behind those of kQueries deltas.
constexpr int kQueries = kRowsAreKeys ? kColumns : kRows;
struct QueryValues {
  const float* lses;  // from the lane's first query on
  template <bool kUnmasked>
  __device__ __forceinline__ float lse(const Cell& cell, int e) const {
    const float lse = lses[query_of({0, 0}, cell, e)];
    return kUnmasked ? lse * kLog2e : base2(lse);
  }
  __device__ __forceinline__ float delta(const Cell& cell, int e) const {
    return lses[kQueries + query_of({0, 0}, cell, e)];
  }
};

// For the tile's queries from `query` on.
SM void copy_values(unsigned to, const float* lse, const float* delta, const Head& head, int query) {
  if (kQueries < kThreads && threadIdx.x >= kQueries) return;
  const bool is_there = query + (int)threadIdx.x < head.queries;
  const long long row = row_of(head, query) + threadIdx.x;
  copy_number(to + 4 * threadIdx.x, lse + row, is_there);
  copy_number(to + 4 * (kQueries + threadIdx.x), delta + row, is_there);
}

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

// Weights become `mixed`, and products `dscore`; add(cell, e, gradients) takes what the body gives beside
// them.
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
