// Decode attention on tensor cores, for elements of 16 bits: scores, softmax weights and weighted sums of
// values (online softmax). A warp processes tiles of 16 keys, and the kRows <= 8 rows of the block are the 8
// columns of its products (instructions.cuh):
//   scores of a tile   [16 keys, 8 rows] = keys [16, kHead] x queries^T [kHead, 8]
//   sums               [kHead, 8 rows] += values^T [kHead, 16 keys] x weights [16 keys, 8 rows]
// The order of the elements of a head is changed so that lanes load pieces of 8 adjacent elements (16 bytes)
// and multiply them without exchanges. Weights are split into two numbers of 16 bits, so that their product
// has about the precision of f32.
// Requires: instructions.cuh and keys.cuh.


// A piece is 8 elements of the head. A lane loads runs of adjacent pieces: kKeyRun pieces of a key, and
// kValueRun pieces of a value, two where these are codes and the lanes still have enough runs.
// kPieces: pieces of a key or value. kOfKey: pieces of a key or query per lane. kOfValue: pieces of a value
// per lane.
constexpr int kPieces = kHead / 8, kKeyRun = kWidest == 16 && kPieces % 8 == 0 ? 2 : 1,
              kValueRun = kWidest == 16 && kPieces % 16 == 0 ? 2 : 1;
SM constexpr int runs_of(int run, int lanes) { return (kPieces + run * lanes - 1) / (run * lanes); }
constexpr int kOfKey = kKeyRun * runs_of(kKeyRun, 4), kOfValue = kValueRun * runs_of(kValueRun, 8);
// Returns the piece of the head that is number i of lane `lane` of `lanes`, if each loads runs of kRun pieces.
template <int kRun>
SM int piece_of(int lane, int lanes, int i) {
  return (lane + lanes * (i / kRun)) * kRun + i % kRun;
}
// kTile: keys of a tile. kStep: keys that a warp processes in a step.
constexpr int kTile = 16, kStep = kLoads * kTile;
// Whether the values of a step are loaded before the scores are computed. With wide heads there are not
// enough registers.
constexpr bool kEarlyValues = kHead <= 128;

// A quad is four adjacent lanes of a warp. quad() returns the number of the lane's quad, and lane_of_quad()
// the number of the lane in its quad.
SM int quad() { return (threadIdx.x & 31) >> 2; }
SM int lane_of_quad() { return threadIdx.x & 3; }

// A piece of Elements, two in each word; and one of Stored, which is the same without codes, and else has four
// codes in each word.
struct alignas(16) Words {
  unsigned of[4];
};
struct alignas(8 * sizeof(Stored)) Codes {
  unsigned of[2 * sizeof(Stored)];
};
// Loads the pieces that lane `lane` of `lanes` has of the key or value at `from`, in runs of kRun. Pieces that
// the head does not have, and all if is_there is false, become zeros.
template <int kRun, int kCount>
SM void load_pieces(Codes (&to)[kCount], const Stored* from, int lane, int lanes, bool is_there) {
  struct alignas(kRun * sizeof(Codes)) Run {
    Codes of[kRun];
  };
#pragma unroll
  for (int i = 0; i < kCount; i += kRun) {
    const int piece = piece_of<kRun>(lane, lanes, i);
    Run run = {};
    if (is_there && piece < kPieces) run = *(const Run*)(from + piece * 8);
#pragma unroll
    for (int each = 0; each < kRun; ++each) to[i + each] = run.of[each];
  }
}
// Returns the elements of a piece of a key. From codes, the pairs of elements are 0 and 2, 1 and 3, 4 and 6,
// 5 and 7.
SM Words key_words(const Codes& piece) {
  Words words;
#pragma unroll
  for (int w = 0; w < 4; ++w)
    words.of[w] = kHasCodes ? two_numbers(piece.of[w / 2] >> 8 * (w % 2)) : piece.of[w];
  return words;
}
// Returns element `element` of two pieces, that of `a` in the lower 16 bits.
SM unsigned pair_of(const Codes& a, const Codes& b, int element) {
  if (kHasCodes) {
    const int byte = element % 4;
    return two_numbers(bytes_of(a.of[element / 4], b.of[element / 4], byte | (4 + byte) << 8));
  }
  return bytes_of(a.of[element / 2], b.of[element / 2], element % 2 == 0 ? 0x5410 : 0x7632);
}
// Loads piece number `piece` of the query at `from`, in the order of key_words. Returns zeros if the head has
// no such piece, or if is_there is false.
SM Words query_words(const Element* from, int piece, bool is_there) {
  Words words = {};
  if (is_there && piece < kPieces) words = *(const Words*)(from + piece * 8);
  if (!kHasCodes) return words;
  Words turned;
#pragma unroll
  for (int w = 0; w < 4; ++w)
    turned.of[w] = bytes_of(words.of[w / 2 * 2], words.of[w / 2 * 2 + 1], w % 2 == 0 ? 0x5410 : 0x7632);
  return turned;
}

// The lane's pieces of the query of row quad(), those of a key, and the scale of the scores.
struct Queries {
  Words of[kOfKey];
  float scale;
};
// Loads the lane's pieces of the block's queries. q: address of query 0 of head 0 of the batch row. q_t, q_h:
// elements from one query to the next, and from one head to the next. Rows that the block does not have
// become 0.
SM void load_queries(Queries& to, const Element* q, long long q_t, long long q_h, const Rows& rows,
                     float scale) {
  const bool is_there = quad() < rows.count;
  const int row = is_there ? quad() : 0;
  const Element* const from = q + query_of(rows, row) * q_t + head_of(rows, row) * q_h;
#pragma unroll
  for (int i = 0; i < kOfKey; ++i) to.of[i] = query_words(from, piece_of<kKeyRun>(lane_of_quad(), 4, i), is_there);
  to.scale = scale;
}

// The sums of a warp over its keys so far. A lane has them for rows 2 * lane_of_quad() + r, r = 0 and 1.
// base: the largest score. weights: the sum of the weights exp(score - base) of the keys whose scores the
// lane has. of[4 * i + j]: sums of weight * value for the elements 2j and 2j + 1 of the lane's piece i:
// number 2 * e + r is for element 2j + e and row r.
struct Sums {
  float base[2], weights[2], of[4 * kOfValue][4];
};
SM void clear(Sums& sums) {
#pragma unroll
  for (int r = 0; r < 2; ++r) sums.base[r] = -infinity(), sums.weights[r] = 0.0f;
#pragma unroll
  for (int i = 0; i < 4 * kOfValue; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) sums.of[i][e] = 0.0f;
}

// Return the largest of the numbers x, and their sum, over the lanes of the warp with the same
// lane_of_quad(). All lanes of the warp call these.
SM float most_of_quads(float x) {
#pragma unroll
  for (int distance = 4; distance < 32; distance *= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, distance));
  return x;
}
SM float sum_of_quads(float x) {
#pragma unroll
  for (int distance = 4; distance < 32; distance *= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

// Computes the modified scores of a tile. scores[2 * i + r] becomes that of key first + quad() + 8 * i and
// row 2 * lane_of_quad() + r. It is -inf if this key is not less than `end`, or if the block has no such row.
// keys: the lane's pieces of keys first + quad() and first + quad() + 8, and `scales` their scales. seen: 2 if
// every row sees all keys of the tile, otherwise 1.
SM void score_tile(float (&scores)[4], const Queries& q, const Codes (&keys)[2][kOfKey],
                   const float (&scales)[2], const BodyArguments& body, const Rows& rows, int first, int end, int seen) {
  // The products add to two sums alternately, so that a product need not wait for the product just before it.
  float sums[2][4] = {};
#pragma unroll
  for (int i = 0; i < kOfKey; ++i) {
    const Words x = key_words(keys[0][i]), y = key_words(keys[1][i]);
#pragma unroll
    for (int w = 0; w < 4; w += 2) {
      const unsigned a[4] = {x.of[w], y.of[w], x.of[w + 1], y.of[w + 1]};
      multiply(sums[w / 2], a, q.of[i].of[w], q.of[i].of[w + 1]);
    }
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const int key = first + quad() + 8 * (e / 2), row = 2 * lane_of_quad() + e % 2;
    const float score = (sums[0][e] + sums[1][e]) * (kHasCodes ? q.scale * scales[e / 2] : q.scale);
    const float modified = seen != 2            ? modified_score<false>(body, rows, row, key, score)
                           : kPlainWhenUnmasked ? score
                                                : modified_score<true>(body, rows, row, key, score);
    scores[e] = key < end && row < rows.count ? modified : -infinity();
  }
}

// Raises the bases to the largest scores of a step, multiplies the sums by exp(old base - new base), and
// replaces the scores by weights.
SM void weigh(Sums& sums, float (&scores)[kLoads][4]) {
  float factor[2];
  bool is_new = false;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float top = sums.base[r];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) top = fmaxf(top, fmaxf(scores[i][r], scores[i][2 + r]));
    top = most_of_quads(top);
    factor[r] = below(sums.base[r], top);
    is_new = is_new || top != sums.base[r];
    sums.base[r] = top, sums.weights[r] *= factor[r];
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
#pragma unroll
      for (int e = r; e < 4; e += 2) sums.weights[r] += scores[i][e] = below(scores[i][e], top);
  }
  if (__ballot_sync(~0u, is_new) == 0) return;
#pragma unroll
  for (int i = 0; i < 4 * kOfValue; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) sums.of[i][e] *= factor[e % 2];
}

// Adds a tile of keys to the sums of weight * value. weights: those of the tile, as scores of score_tile.
// values: the lane's pieces of the values 2 * lane_of_quad() + {0, 1, 8, 9} of the tile. scales: those of
// values quad() and quad() + 8.
SM void add_tile(Sums& sums, const float (&weights)[4], const Codes (&values)[4][kOfValue],
                 const float (&scales)[2]) {
  // most: the weights, rounded to elements. rest: the rounding errors, rounded to elements. Index 0 is for
  // the keys of the lower half of the tile, and index 1 for those of the upper half.
  unsigned most[2], rest[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float scale = kHasCodes ? scales[i] : 1.0f, x = weights[2 * i] * scale,
                y = weights[2 * i + 1] * scale;
    most[i] = pack(x, y), rest[i] = pack(x - low_of(most[i]), y - high_of(most[i]));
    transpose(most[i]), transpose(rest[i]);
  }
#pragma unroll
  for (int i = 0; i < 4 * kOfValue; ++i) {
    unsigned a[4];
#pragma unroll
    for (int e = 0; e < 4; ++e)
      a[e] = pair_of(values[e / 2 * 2][i / 4], values[e / 2 * 2 + 1][i / 4], i % 4 * 2 + e % 2);
    multiply(sums.of[i], a, most[0], most[1]);
    multiply(sums.of[i], a, rest[0], rest[1]);
  }
}

// Loads the rows of k and v in which keys first + lane % 16 + 16 * i of a step are stored, for i < kLoads.
// Keys from `end` on get row 0.
SM void load_places(int (&rows)[kLoads], const Places& places, int first, int end) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const int key = first + i * kTile + (int)(threadIdx.x & 15);
    rows[i] = kHasPlaces && key < end ? place_of(places, key) : 0;
  }
}
// Returns the row in which key number `key` of the tile from key `first` on is stored. own: what load_places
// has loaded for this tile. All lanes of the warp call this.
SM int row_of_key(int own, int first, int key) {
  return kHasPlaces ? __shfl_sync(~0u, own, key) : first + key;
}

// The rows of k and v in which the keys of a warp's next step are stored, as load_places loads them.
struct Ahead {
  int of[kLoads];
};
// Loads those of the warp's first step in the part that begins with key `first`. end: the end of the block's
// keys. All threads of the block call this.
SM void look_ahead(Ahead& ahead, const Places& places, int first, int end) {
  load_places(ahead.of, places, first + (int)(threadIdx.x >> 5) * kStep, end);
}

// Adds the keys of a part to the sums of the block's rows. All threads of the block call this. Its warps take
// the keys in turn, kStep keys at a time. sums: those of the warp. places: the rows of k and v in which the
// keys and values are stored. ahead: what look_ahead has loaded for this part; it becomes that of the next
// part. All loads of a step are issued before the first result is used, and the places of the next step are
// loaded then, too.
SM void sum_keys(Sums& sums, const Queries& q, const Matrix& k, const Matrix& v, const Places& places,
                 const BodyArguments& body, const Rows& rows, const Part& part, Ahead& ahead) {
  const int end = part.end;
  int first = part.first + (int)(threadIdx.x >> 5) * kStep;
  if (first >= end) look_ahead(ahead, places, part.next, part.last);
  for (; first < end; first += kWarps * kStep) {
    int own[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) own[i] = ahead.of[i];
    if (first + kWarps * kStep < end)
      load_places(ahead.of, places, first + kWarps * kStep, end);
    else
      look_ahead(ahead, places, part.next, part.last);
    const int seen = seen_of(body, rows, first, min(first + kStep, end));
    if (seen == 0) continue;
    Codes keys[kLoads][2][kOfKey], values[kLoads][4][kOfValue];
    float key_scales[kLoads][2], value_scales[kLoads][2];
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int key = quad() + 8 * half, tile = first + i * kTile;
        const int slot = row_of_key(own[i], tile, key);
        const bool is_there = tile + key < end;
        key_scales[i][half] = scale_at(k, slot, is_there), value_scales[i][half] = scale_at(v, slot, is_there);
        load_pieces<kKeyRun>(keys[i][half], k.at + slot * k.place, lane_of_quad(), 4, is_there);
      }
    const auto load_values = [&] {
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
#pragma unroll
        for (int each = 0; each < 4; ++each) {
          const int key = 2 * lane_of_quad() + each % 2 + each / 2 * 8, tile = first + i * kTile;
          load_pieces<kValueRun>(values[i][each], v.at + row_of_key(own[i], tile, key) * v.place, quad(), 8,
                                 tile + key < end);
        }
    };
    if (kEarlyValues) load_values();
    float scores[kLoads][4];
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      score_tile(scores[i], q, keys[i], key_scales[i], body, rows, first + i * kTile, end, seen);
    if (!kEarlyValues) load_values();
    weigh(sums, scores);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) add_tile(sums, scores[i], values[i], value_scales[i]);
  }
}

// The bases and the sums of weights of the warp's partial result, for rows 2 * lane_of_quad() + r. The sums
// of weight * value are in shared memory.
struct Totals {
  float base[2], weights[2];
};
// Adds the sums of a part of the keys to the warp's partial result, which is in `totals` and at `to` (kRows x
// kPitch floats, layout.cuh). is_first: there is no result of earlier parts. All lanes of the warp call this.
SM void add_part(Totals& totals, float* to, const Sums& sums, bool is_first) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = 2 * lane_of_quad() + r;
    const float weights = sum_of_quads(sums.weights[r]);
    Whole whole{-infinity(), 0.0f, 0.0f};
    if (!is_first) whole.base = totals.base[r], whole.weights = totals.weights[r];
#pragma unroll
    for (int i = 0; i < 8 * kOfValue; ++i) {
      const int piece = piece_of<kValueRun>(quad(), 8, i / 8);
      if (row >= kRows || piece >= kPieces) continue;
      float& sum = to[row * kPitch + piece * 8 + i % 8];
      Whole own = whole;
      own.sum = is_first ? 0.0f : sum;
      add(own, {sums.base[r], weights, sums.of[i / 2][i % 2 * 2 + r]});
      sum = own.sum;
    }
    add(whole, {sums.base[r], weights, 0.0f});
    totals.base[r] = whole.base, totals.weights[r] = whole.weights;
  }
}
// Stores the bases and the sums of weights in the partial result at `to`.
SM void leave_totals(float* to, const Totals& totals) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = 2 * lane_of_quad() + r;
    if (quad() > 0 || row >= kRows) continue;
    to[row * kPitch + kHead] = totals.base[r], to[row * kPitch + kHead + 1] = totals.weights[r];
  }
}
