// Copies of tiles of keys or values from device memory to shared memory. If keys and values are rows of a
// table, such as a paged KV cache, the row of each key is looked up.
// Requires: tiles.cuh.


// Row of the table for each key of one batch entry: key s is in row at[s * stride]. Read only if kHasPlaces.
struct TableRows {
  const int* at;
  long long stride;
};

// Copies keys [first, first + kColumns) to `tile`, as copy_rows does; keys from `end` on become zero.
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
