// Copies of keys and values for few queries whose sums have the order of mma/parts.cuh. A warp copies the
// tiles that it multiplies itself, so its warps do not wait for each other. It has kBuffers buffers in shared
// memory, each for a piece of kPieceKeys keys or values of a tile. The pieces of a tile are those of K, then
// those of V. When a piece has been multiplied, the piece that is kBuffers pieces later is copied in its
// place.
// Requires: mma/tiles.cuh and rows.cuh.

// kPieces: pieces of a tile of K. kOfRow: copies of 16 bytes per row.
constexpr int kBuffers = 4, kPieceKeys = 16 * kLoads, kPieces = kColumns / kPieceKeys;
constexpr int kOfRow = kPadded / 8, kBufferBytes = kPieceKeys * kPitch;
static_assert(kBuffers <= 2 * kPieces, "at most one more tile is copied ahead");

// Waits until all but the last kLeft groups of copies of the thread are complete. Copies of a host have no
// delay.
template <int kLeft>
SM void wait_for_copies_before() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft));
#endif
}

// Starts to copy the queries of the block to 16 rows in shared memory. Rows that the block does not have
// become 0. q: query 0 of head 0 of the batch row. q_t, q_h: elements from one query to the next, and from
// one head to the next. All threads of the block call this.
SM void copy_queries(unsigned tile, const Half* q, long long q_t, long long q_h, const Rows& rows) {
  for (int i = threadIdx.x; i < 16 * kOfRow; i += kThreads) {
    const int row = i / kOfRow, column = i % kOfRow * 8, own = min(row, rows.count - 1);
    const Half* const from = q + query_of(rows, own) * q_t + head_of(rows, own) * q_h + column;
#pragma unroll
    for (int e = 0; e < 8; e += kVector)
      copy_piece(tile + row * kPitch + 2 * (column + e), from + e, row < rows.count && column + e < kHead);
  }
}

// The rows of the table that has the keys. at: that of key 0. stride: elements from one key to the next. It
// is read only if kHasPlaces. Otherwise key s is in row s.
struct Places {
  const int* at;
  long long stride;
};

// A tile of kColumns keys. first: its first key. seen: its mask state (seen_of). places: if kHasPlaces, the
// rows of the table in which keys first + lane and first + 32 + lane are.
struct Tile {
  int first, seen, places[2];
};
SM void load_places(Tile& tile, const Places& places, int end) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int key = tile.first + 32 * i + lane();
    tile.places[i] = kHasPlaces && key < end ? places.at[key * places.stride] : 0;
  }
}

// Starts to copy the keys (or values) [piece * kPieceKeys, (piece + 1) * kPieceKeys) of a tile to the address
// `buffer`. Keys from `end` on become zero. All lanes of a warp call this.
SM void copy_keys(unsigned buffer, const Matrix& matrix, const Tile& tile, int piece, int end) {
  const Half* const first = matrix.at + (kHasPlaces ? 0 : (tile.first + piece * kPieceKeys) * matrix.stride);
#pragma unroll 8
  for (int i = lane(); i < kPieceKeys * kOfRow; i += 32) {
    const int key = i / kOfRow, column = i % kOfRow * 8, of_tile = piece * kPieceKeys + key;
    const long long row = kHasPlaces ? __shfl_sync(~0u, tile.places[of_tile / 32], of_tile % 32) : key;
    const bool is_there = tile.first + of_tile < end;
    const Half* const from = first + (is_there ? row : 0) * matrix.stride + column;
#pragma unroll
    for (int e = 0; e < 8; e += kVector)
      copy_piece(buffer + key * kPitch + 2 * (column + e), from + e,
                 is_there && (kHead == kPadded || column + e < kHead));
  }
}
