// The function copy_keys, which copies a tile of keys or values from device memory to shared memory. If
// kHasPlaces, the keys and values are rows of a table, such as a paged KV cache, and an index array
// specifies the row of each key.
// Requires: tiles.cuh.


// The table rows of the keys of one batch row: key s and its value are in row at[s * stride]. The array is
// read only if kHasPlaces. Otherwise key s is in row s.
struct TableRows {
  const int* at;
  long long stride;
};

// Starts to copy the keys (or values) [first, first + kColumns) to the address `tile` in shared memory, as
// rows of kPadded elements that are kPitch bytes apart. Keys from `end` on and columns from kHead on become
// zero. matrix: all keys, or the whole table. All threads of the block call this.
SM void copy_keys(unsigned tile, const Matrix& matrix, const TableRows& table, int first, int end) {
  if constexpr (!kHasPlaces) {
    copy_rows<kColumns>(tile, matrix, first, end);
  } else {
    constexpr int kPieces = kPadded / 8;
#pragma unroll 4
    for (int piece = threadIdx.x; piece < kColumns * kPieces; piece += kThreads) {
      const int key = piece / kPieces, column = piece % kPieces * 8;
      const bool is_there = first + key < end;
      const long long row = is_there ? table.at[(first + key) * table.stride] : 0;
      const Half* const from = matrix.at + row * matrix.stride + column;
#pragma unroll
      for (int e = 0; e < 8; e += kVector)
        copy_piece(tile + key * kPitch + 2 * (column + e), from + e, is_there && (kHead == kPadded || column + e < kHead));
    }
  }
}
