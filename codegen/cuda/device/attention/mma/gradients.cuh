// Softmax weights of a tile of scores, and the gradients of the scores, for the backward pass of attention.
// The function `weigh` computes the weights, and `differentiate` computes the gradients. Only
// `differentiate` needs the product of dO and V, so the tensor cores can compute this product during
// `weigh`.
// Requires: elements.cuh.


// The backward pass also computes gradients of values that the score_mod reads. A row gradient is for a
// value that does not depend on the key. A column gradient is for a value that depends on the key, but not
// on the query. An element gradient is for a value that depends on both. Arrays of gradients have the row
// gradients first, then the column gradients, then the element gradients. kGradientSlots: the length of
// such arrays; at least 1, because arrays cannot be empty.
constexpr int kGradientCount = kRowGradients + kColumnGradients + kElementGradients;
constexpr int kGradientSlots = kGradientCount > 0 ? kGradientCount : 1;
// A tile is processed in chunks of kChunk columns. Chunk: the accumulators of a warp for one chunk.
constexpr int kChunkTiles = kChunk / 8;
typedef Sums<kChunkTiles> Chunk;

// Returns lse * log2(e). lse is the log of the sum of exp over the modified scores of a query. It is -inf
// for a query that sees no key; the result is then inf, which makes the weights of the query 0.
SM float base2(float lse) { return lse == -infinity() ? infinity() : lse * kLog2e; }

// Number of queries of a tile. Shared memory has two arrays for them: the lse of each query, then the delta
// of each query. delta is the dot product of the query's rows of dO and O, minus the gradient of its lse if
// there is one.
constexpr int kQueries = kRowsAreKeys ? kColumns : kRows;
struct QueryValues {
  const float* lses;  // address in shared memory of the lse of the lane's first query
  // Returns lse * log2(e) for the query of element e (0 or 1) of a cell. kUnmasked: the query sees a key.
  template <bool kUnmasked>
  __device__ __forceinline__ float lse(const Cell& cell, int e) const {
    const float lse = lses[query_of({0, 0}, cell, e)];
    return kUnmasked ? lse * kLog2e : base2(lse);
  }
  // Returns the delta of the query of element e of a cell.
  __device__ __forceinline__ float delta(const Cell& cell, int e) const {
    return lses[kQueries + query_of({0, 0}, cell, e)];
  }
};

// Starts to copy the lse and the delta of kQueries queries, from `query` on, to the address `to` in shared
// memory. Queries that do not exist get zeros. All threads of the block call this. Requires: kQueries <=
// kThreads.
SM void copy_values(unsigned to, const float* lse, const float* delta, const Head& head, int query) {
  if (kQueries < kThreads && threadIdx.x >= kQueries) return;
  const bool is_there = query + (int)threadIdx.x < head.queries;
  const long long row = row_of(head, query) + threadIdx.x;
  copy_number(to + 4 * threadIdx.x, lse + row, is_there);
  copy_number(to + 4 * (kQueries + threadIdx.x), delta + row, is_there);
}

// Sets weights to exp(modified score - lse). All lanes of a warp call this. scores: the products of Q and
// K, which are not yet multiplied by `scale`. kUnmasked: the queries of the tile see all its keys. If it
// is true, weights in rows past the last query (past the last key if kRowsAreKeys) may have any value.
// Otherwise these weights are 0.
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

// Replaces each weight by weight * factor, where factor comes from the score_mod (dropout, for example): dV
// is the sum of this product times dO. Replaces each product of dO and V by the gradient of the score.
// Calls add(cell, e, gradients) for each element of the lane, with its gradients of the values that the
// score_mod reads. All lanes of a warp call this.
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
