// Layout of decode attention: the keys and values of a block, and the size of its partial results.
// A row is a query of one of the kGroup query heads that share a key head. A block has up to kRows rows, and
// kWarps warps. The keys of the rows are divided into parts (keys.cuh), and the warps of a block take the
// keys of a part in turn. A warp adds up a partial result over its keys. There are two ways to compute it:
// multiply-adds in f32 (lanes.cuh, scores.cuh, lane_sums.cuh) and, for 16-bit elements, tensor cores
// (instructions.cuh, tile_sums.cuh).
// Requires: the functions of the score_mod ("body", codegen/cuda/attention/attention_hooks.h), the prelude,
// and the constants and the namespace `sharing` that codegen/cuda/attention/decode_attention.cpp puts before
// this text.
// Order of the text: layout, rows, results, keys, the files of one way, tickets, block.


// kPitch: floats per row of a partial result. A partial result has kRows rows, one after the other in
// memory. A row has kHead sums of weight * value, then the base (the largest score), and then the sum of the
// weights exp(score - base).
constexpr int kPitch = kHead + 2;

SM float infinity() { return __uint_as_float(0x7f800000u); }
// Returns exp(x). Tests compile the second branch for a host.
SM float exponential(float x) {
  x *= 1.4426950408889634f;
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}
// Returns exp(x - base) for x <= base. If both are -inf, as before the first visible key, the result is 0.
SM float below(float x, float base) { return exponential(x - (base == -infinity() ? 0.0f : base)); }

// The scales of codes (kHasCodes): keys or values are codes of 8 bits, each times the scale of its slot. at:
// address of a scale. b, place, h: elements from one batch element, slot and key head to the next. Without
// codes, Stored is Element, and scales are not read.
struct Scales {
  const Scale* at;
  long long b, place, h;
};
// The keys or values of one batch element and key head. They are stored in numbered slots. at: address of
// slot 0. place: elements from one slot to the next. scales: those of this batch element and key head.
struct Matrix {
  const Stored* at;
  long long place;
  Scales scales;
};
// Returns the scale of the key or value in a slot; 1 without codes, and 0 if is_there is false.
SM float scale_at(const Matrix& matrix, int slot, bool is_there) {
  if (!kHasCodes) return 1.0f;
  return is_there ? (float)sm_get(matrix.scales.at[slot * matrix.scales.place]) : 0.0f;
}
// A table with the slot of each key of a batch element, as for a paged cache. at: the table's entry for
// key 0. place: entries from one key to the next. The table is read only if kHasPlaces. Otherwise key s is
// in slot s.
struct Places {
  const int* at;
  long long place;
};
// Returns the slot of a key and of its value.
SM int place_of(const Places& places, int key) { return kHasPlaces ? places.at[key * places.place] : key; }
