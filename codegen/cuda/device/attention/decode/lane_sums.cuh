// Softmax weights and weighted sums of values in decode attention by multiply-adds (online softmax).
// A row is a query of one query head, and its base is its largest score so far. The weight of a key for a
// row is exp(score - base). Each group of lanes of a warp (lanes.cuh) has separate bases and sums for the
// keys that it processes. The keys are divided into parts (keys.cuh). At the end of a part, the sums are
// added over the groups of the warp.
// Requires: scores.cuh.


// The elements of the block's queries that the lane holds, in f32 and multiplied by the scale of the scores.
struct Queries {
  float of[kRows][kOwn];
};

// Loads the lane's elements of the block's queries into `to`, in f32 and multiplied by `scale`. q: address
// of query 0 of head 0 of the batch element. q_t, q_h: elements from one query to the next, and from one
// head to the next. Rows that the block does not have become 0.
SM void load_queries(Queries& to, const Element* q, long long q_t, long long q_h, const Rows& rows,
                     float scale) {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const bool is_there = row < rows.count;
    const Element* const from =
        q + query_of(rows, is_there ? row : 0) * q_t + head_of(rows, is_there ? row : 0) * q_h;
    Piece<Element> pieces[kTurns];
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) pieces[turn] = piece_at(from, turn, is_there);
    widen(to.of[row], pieces, 1.0f);
#pragma unroll
    for (int e = 0; e < kOwn; ++e) to.of[row][e] *= scale;
  }
}

// The sums of a group over its keys so far, for each row of the block. base: the largest score. weights: the
// sum of the weights. of: the sums of weight * value, for the elements of the head that the lane holds.
struct Sums {
  float base[kRows], weights[kRows], of[kRows][kOwn];
};

SM void clear(Sums& sums) {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    sums.base[row] = -infinity(), sums.weights[row] = 0.0f;
#pragma unroll
    for (int e = 0; e < kOwn; ++e) sums.of[row][e] = 0.0f;
  }
}

// Raises the base of a row to `base`, and multiplies the row's sums by exp(old base - new base).
SM void move_base(Sums& sums, int row, float base) {
  const float factor = below(sums.base[row], base);
  sums.base[row] = base, sums.weights[row] *= factor;
#pragma unroll
  for (int e = 0; e < kOwn; ++e) sums.of[row][e] *= factor;
}

// Adds the kLoads keys of a step to the sums of the group. scores: the scores [kLoads][kRows] of these keys,
// which are replaced by the weights. v: the values. scales: of values that are codes.
SM void add_values(Sums& sums, float (&scores)[kValues], const Piece<Stored> (&v)[kLoads][kTurns],
                   const float (&scales)[kLoads]) {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    float top = sums.base[row];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) top = fmaxf(top, scores[i * kRows + row]);
    move_base(sums, row, top);
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      sums.weights[row] += scores[i * kRows + row] = below(scores[i * kRows + row], top);
  }
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    float value[kOwn];
    widen(value, v[i], scales[i]);
#pragma unroll
    for (int row = 0; row < kRows; ++row)
#pragma unroll
      for (int e = 0; e < kOwn; ++e)
        sums.of[row][e] = fmaf(scores[i * kRows + row], value[e], sums.of[row][e]);
  }
}

// Adds the sums of all groups of the warp. Afterwards each group has the total. All lanes of the warp call
// this.
SM void add_groups(Sums& sums) {
#pragma unroll
  for (int distance = kLanes; distance < 32; distance *= 2)
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      move_base(sums, row, fmaxf(sums.base[row], __shfl_xor_sync(~0u, sums.base[row], distance)));
      sums.weights[row] += __shfl_xor_sync(~0u, sums.weights[row], distance);
#pragma unroll
      for (int e = 0; e < kOwn; ++e) sums.of[row][e] += __shfl_xor_sync(~0u, sums.of[row][e], distance);
    }
}

// Nothing is loaded ahead of a part.
struct Ahead {};
SM void look_ahead(Ahead& /*ahead*/, const Places& /*places*/, int /*first*/, int /*end*/) {}

// Adds the keys of a part to the sums of the block's rows. All threads of the block call this. Its warps take
// the keys in turn, kStep keys at a time. sums: the sums of the lane's group. q: the lane's elements of the
// scaled queries. places: the table of the keys' slots in k and v (layout.cuh). All loads of a step are
// issued before the first result is used.
SM void sum_keys(Sums& sums, const Queries& q, const Matrix& k, const Matrix& v, const Places& places,
                 const BodyArguments& body, const Rows& rows, const Part& part, Ahead& /*ahead*/) {
  const int end = part.end;
  for (int first = part.first + (int)(threadIdx.x >> 5) * kStep; first < end; first += kWarps * kStep) {
    // The mask state of the keys of this step; 0: no row of the block sees any of them.
    const int seen = seen_of(body, rows, first, min(first + kStep, end));
    if (seen == 0) continue;
    const int own = first + group_of_lanes();  // the first of the lane's keys own + i * kTogether
    // The slots of these keys.
    int at[kLoads];
    Piece<Stored> keys[kLoads][kTurns], values[kLoads][kTurns];
    float key_scales[kLoads], value_scales[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      at[i] = own + i * kTogether < end ? place_of(places, own + i * kTogether) : 0;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      key_scales[i] = scale_at(k, at[i], own + i * kTogether < end);
      value_scales[i] = scale_at(v, at[i], own + i * kTogether < end);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn)
        keys[i][turn] = piece_at(k.at + at[i] * k.place, turn, own + i * kTogether < end);
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn)
        values[i][turn] = piece_at(v.at + at[i] * v.place, turn, own + i * kTogether < end);
    float scores[kValues];
    score_keys(scores, q.of, keys, key_scales, body, rows, first, end, seen);
    add_values(sums, scores, values, value_scales);
  }
}

// The bases and the sums of weights of a warp's partial result, for each row. The sums of weight * value are
// in shared memory.
struct Totals {
  float base[kRows], weights[kRows];
};
// Adds the sums of a part of the keys to the warp's partial result, which is in `totals` and at `to` (kRows x
// kPitch floats, layout.cuh). is_first: there is no result of earlier parts. All lanes of the warp call this.
SM void add_part(Totals& totals, float* to, Sums& sums, bool is_first) {
  add_groups(sums);
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    Whole whole{-infinity(), 0.0f, 0.0f};
    if (!is_first) whole.base = totals.base[row], whole.weights = totals.weights[row];
#pragma unroll
    for (int e = 0; e < kOwn; ++e) {
      if (group_of_lanes() > 0 || !has_piece(e / kVector)) continue;
      float& sum = to[row * kPitch + (e / kVector * kLanes + lane_of_key()) * kVector + e % kVector];
      Whole own = whole;
      own.sum = is_first ? 0.0f : sum;
      add(own, {sums.base[row], sums.weights[row], sums.of[row][e]});
      sum = own.sum;
    }
    add(whole, {sums.base[row], sums.weights[row], 0.0f});
    totals.base[row] = whole.base, totals.weights[row] = whole.weights;
  }
}
// Stores the bases and the sums of weights in the partial result at `to`.
SM void leave_totals(float* to, const Totals& totals) {
  if ((threadIdx.x & 31) != 0) return;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    float* const part = to + row * kPitch;
    part[kHead] = totals.base[row], part[kHead + 1] = totals.weights[row];
  }
}
