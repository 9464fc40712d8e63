// Functions that find out which keys the rows of a block see, and that divide the visible keys into parts.
// They are for decode attention: few queries over many keys. A row is a query of one query head, and a
// block has several rows. A row "sees" a key unless the attention mask excludes this pair. A key is visible
// if at least one row of the block sees it.
// The mask state of a range of keys is 0 if no row of the block sees any of the keys, 2 if every row sees
// all of them, and 1 in all other cases. 1 is also returned if the state is not known.
// Requires: rows.cuh, and the constants kUnit, kParts and kMaskedByHead.


// Returns the mask state of keys [first, end) for the rows of the block. kLooksUp: the mask compares
// integers that it loads from memory, such as document numbers. All lanes of a warp load these integers
// together, so all lanes must then call this function with the same keys. kMaskedByHead: the mask depends
// on the query head.
SM int seen_of(const BodyArguments& body, const Rows& rows, int first, int end) {
  const int t0 = query_of(rows, 0), t1 = query_of(rows, rows.count - 1) + 1;
  int least = 2, most = 0;
#pragma unroll 1
  for (int i = 0; i < (kMaskedByHead ? kGroup : 1); ++i) {
    const int seen = body_tile(body, rows.b, rows.key_head * kGroup + i, t0, t1, first, end);
    least = min(least, seen), most = max(most, seen);
  }
  return least == most ? least : 1;
}

// Returns the least x in [low, high) for which holds(x) is true, or high if there is none. If holds(x) is
// true, it must be true for all larger values. All lanes of a warp call this with the same range. In each
// step of the search, the 32 lanes test 32 different values. If kLooksUp, all lanes test the same value,
// because `holds` calls seen_of, which then requires it.
template <typename Holds>
SM int least_where(int low, int high, const Holds& holds) {
  while (kLooksUp && low < high) {
    const int own = (low + high) / 2;
    if (holds(own))
      high = own;
    else
      low = own + 1;
  }
  while (low < high) {
    const int step = (high - low + 31) / 32, own = low + (int)(threadIdx.x & 31) * step;
    const unsigned yes = __ballot_sync(~0u, own >= high || holds(own));
    const int lane = yes == 0 ? 32 : __ffs(yes) - 1;
    high = min(high, low + lane * step);
    low = lane == 0 ? high : low + (lane - 1) * step + 1;
  }
  return low;
}

// A division of the visible keys. A unit is kUnit consecutive keys. The visible keys are in the units first
// to end - 1. These units are divided into `count` parts of `each` units; the last part may have fewer.
struct Parts {
  int count, first, each, end;
};
// Returns the division of the block's visible keys into 1 to kParts parts. It depends only on the keys that
// the rows of this block see, and not on the rest of the batch. All lanes of a warp call this.
SM Parts parts_of(const BodyArguments& body, const Rows& rows) {
  const int units = (rows.keys + kUnit - 1) / kUnit;
  const int end = least_where(min(1, units), units,
                              [&](int unit) { return seen_of(body, rows, unit * kUnit, rows.keys) == 0; });
  const int first = least_where(0, max(end - 1, 0), [&](int unit) {
    return seen_of(body, rows, 0, min((unit + 1) * kUnit, rows.keys)) != 0;
  });
  const int each = max(1, (end - first + kParts - 1) / kParts);
  return {max(1, (end - first + each - 1) / each), first, each, end};
}

// Returns the modified score of a row and a key, from their score. kUnmasked: the row sees the key. If the
// row or the key does not exist, the last existing one is used instead, because the score_mod takes valid
// indices only; the caller discards the result.
template <bool kUnmasked>
SM float modified_score(const BodyArguments& body, const Rows& rows, int row, int key, float score) {
  float modified, factor;
  row = min(row, rows.count - 1);
  body_forward<kUnmasked>(body, rows.b, head_of(rows, row), query_of(rows, row), min(key, rows.keys - 1),
                          nullptr, score, modified, factor);
  return modified;
}
