// The keys that a block of decode attention has.
// Requires: layout.cuh.


// What the rows see of keys [first, end): 0 nothing, 1 some, 2 everything.
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

// The least x in [low, high) of which `holds` says yes, as of all behind it, or high: lanes try 32 at a time,
// or all the same one where they look up the mask's numbers together.
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

// The units of keys that rows see are in parts of `each`, which begin with the unit `first`.
struct Parts {
  int count, first, each, end;
};
SM Parts parts_of(const BodyArguments& body, const Rows& rows) {
  const int units = (rows.keys + kUnit - 1) / kUnit;
  const int end = least_where(min(1, units), units, [&](int unit) { return seen_of(body, rows, unit * kUnit, rows.keys) == 0; });
  const int first = least_where(
      0, max(end - 1, 0), [&](int unit) { return seen_of(body, rows, 0, min((unit + 1) * kUnit, rows.keys)) != 0; });
  const int each = max(1, (end - first + kParts - 1) / kParts);
  return {max(1, (end - first + each - 1) / each), first, each, end};
}
