// The function copy_keys, which copies a tile of keys or values from device memory to shared memory. If
// kHasPlaces, the keys and values are rows of a table, such as a paged KV cache, and an index array
// specifies the row of each key. If HAS_CODES, they are codes of 8 bits.
// Requires: tiles.cuh, and for codes Pack and sm_get (codegen/printers/device/prelude/memory.cuh).


// The table rows of the keys of one batch row: key s and its value are in row at[s * stride]. The array is
// read only if kHasPlaces. Otherwise key s is in row s.
struct TableRows {
  const int* at;
  long long stride;
};

// Scales of codes (HAS_CODES): keys and values are codes of 8 bits, each times the scale of its row. at: address
// of a scale. b, place, h: elements from one batch row, row and key head to the next. Without codes, Stored is
// Half, and scales are not read.
struct Scales {
  const Scale* at;
  long long b, place, h;
};
// The keys (or values) of a head, or the whole table. at: the first row, of kHead elements. stride: elements
// from one row to the next. scales, scale_stride: likewise, of codes.
struct Keys {
  const Stored* at;
  long long stride;
  const Scale* scales;
  long long scale_stride;
};
// Returns the keys of key head `head` of batch row `b`. k_b, k_t, k_h: strides along batch, position and head.
SM Keys keys_of(const Stored* k, long long k_b, long long k_t, long long k_h, const Scales& scales, int b,
                int head) {
  return {k + b * k_b + head * k_h, k_t, scales.at + b * scales.b + head * scales.h, scales.place};
}

#if HAS_CODES
// Does what copy_keys does for codes, before it returns: each becomes its number times the scale, rounded to
// Half.
SM void copy_codes(unsigned tile, const Keys& keys, const TableRows& table, int first, int end) {
  constexpr int kPieces = kPadded / 8;
  typedef Pack<Stored, kVector> Codes;
#pragma unroll 2
  for (int piece = threadIdx.x; piece < kColumns * kPieces; piece += kThreads) {
    const int key = piece / kPieces, column = piece % kPieces * 8;
    const bool is_there = first + key < end;
    const long long row = !is_there ? 0 : kHasPlaces ? table.at[(first + key) * table.stride] : first + key;
    const float scale = is_there ? (float)sm_get(keys.scales[row * keys.scale_stride]) : 0.0f;
    Codes codes[8 / kVector] = {};
#pragma unroll
    for (int i = 0; i < 8 / kVector; ++i)
      if (is_there && column + i * kVector < kHead)
        codes[i] = *(const Codes*)(keys.at + row * keys.stride + column + i * kVector);
    const auto number = [&](int e) { return (float)sm_get(codes[e / kVector].at[e % kVector]) * scale; };
#pragma unroll
    for (int e = 0; e < 8; e += 2)
      store_word(tile + key * kPitch + 2 * (column + e), pack(number(e), number(e + 1)));
  }
}
#endif

// Starts to copy the keys (or values) [first, first + kColumns) to the address `tile` in shared memory, as
// rows of kPadded elements that are kPitch bytes apart. Keys from `end` on and columns from kHead on become
// zero. All threads of the block call this.
SM void copy_keys(unsigned tile, const Keys& keys, const TableRows& table, int first, int end) {
#if HAS_CODES
  copy_codes(tile, keys, table, first, end);
#else
  if constexpr (!kHasPlaces) {
    copy_rows<kColumns>(tile, {(const Half*)keys.at, keys.stride}, first, end);
  } else {
    constexpr int kPieces = kPadded / 8;
#pragma unroll 4
    for (int piece = threadIdx.x; piece < kColumns * kPieces; piece += kThreads) {
      const int key = piece / kPieces, column = piece % kPieces * 8;
      const bool is_there = first + key < end;
      const long long row = is_there ? table.at[(first + key) * table.stride] : 0;
      const Half* const from = (const Half*)keys.at + row * keys.stride + column;
#pragma unroll
      for (int e = 0; e < 8; e += kVector)
        copy_piece(tile + key * kPitch + 2 * (column + e), from + e, is_there && (kHead == kPadded || column + e < kHead));
    }
  }
#endif
}
