// Mask states of ranges of keys in decode attention, and the division of the keys that some row of the block
// sees into parts. A mask state says whether no row sees any key of a range, every row sees all of them, or
// neither is known.
// Requires: layout.cuh.


// Returns the mask state of keys [first, end) for the rows of the block: 0 no row sees any of the keys, 2
// every row sees all of them, 1 anything else (1 is always correct). If kLooksUp (the mask loads integers),
// all lanes of a warp call this with the same keys, because they load the integers together.
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
// true, it must be true for all larger values. All lanes of a warp call this with the same range. They test
// 32 values at a time, one per lane, or the same value if kLooksUp (see seen_of).
template <typename Holds>
SM int least_where(int low, int high, const Holds& holds) {
  while (kLooksUp && low < high) {
    const int own = (low + high) / 2;
    if (holds(own)) high = own;
    else low = own + 1;
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

// The visible keys: units [first, end) of kUnit keys, in `count` parts of `each` units, or fewer in the last.
struct Parts {
  int count, first, each, end;
};
// Returns the parts of the block's keys: at least 1, at most kParts. They depend only on what the rows see,
// so a row has the same sums in any batch. All lanes of a warp call this.
SM Parts parts_of(const BodyArguments& body, const Rows& rows) {
  const int units = (rows.keys + kUnit - 1) / kUnit;
  const int end = least_where(min(1, units), units, [&](int unit) { return seen_of(body, rows, unit * kUnit, rows.keys) == 0; });
  const int first = least_where(
      0, max(end - 1, 0), [&](int unit) { return seen_of(body, rows, 0, min((unit + 1) * kUnit, rows.keys)) != 0; });
  const int each = max(1, (end - first + kParts - 1) / kParts);
  return {max(1, (end - first + each - 1) / each), first, each, end};
}
