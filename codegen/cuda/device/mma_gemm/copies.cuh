// Tiles of the operands in shared memory, for the matmul kernel for sm_80 and later. An operand that is contiguous along
// k has a tile of kRows (or kColumns) lines of kDepth elements, another one has kDepth lines of kRows (or kColumns)
// elements. Pieces of 16 bytes are stored in an order in which eight pieces of one number, in adjacent lines, are in
// different banks.
// Requires: sizes.cuh and instructions.cuh.


// Returns x. If kOneTile is true, the compiler then keeps nothing in registers that it has computed from x before.
SM unsigned again(unsigned x) { return kOneTile ? fresh(x) : x; }

// Returns the distance, in bytes, of piece number `piece` of line `line` from the beginning of a tile with lines of
// `width` elements.
template <int width>
SM unsigned place_in(int line, int piece) {
  return line * width * 2 + ((piece ^ (width >= 64 ? line & 7 : line >> 1 & 3)) << 4);
}

// Begins to copy a tile to the shared memory address `tile`. `from` is the tile's place in the operand, of which `lines`
// lines and `width` elements of each line are left. Elements after these become zeros. pitch: elements from one line
// of the operand to the next, below 2^24. All threads of the block call it.
template <int kLines, int kWidth>
SM void load_tile(unsigned tile, const Half* from, int pitch, int lines, int width) {
  constexpr int kPieces = kWidth / 8, kPass = kThreads / kPieces;  // kPass: lines that all threads copy at a time
  const unsigned thread = again(threadIdx.x);
  const int own = thread / kPieces, piece = thread % kPieces, bytes = min(max(2 * (width - 8 * piece), 0), 16);
  const unsigned to = tile + place_in<kWidth>(own, piece);
  static_assert(kPass % 8 == 0);  // so a thread's pieces have one place within their lines
#pragma unroll
  for (int i = 0; i < kLines / kPass; ++i)
    copy_async(to + i * (kPass * kWidth * 2), from + ((own + kPass * i) * pitch + 8 * piece), own + kPass * i < lines ? bytes : 0);
}

// Operands of a product, and elements from one of their lines to the next.
struct Operands {
  const Half *a, *b;
  int a_pitch, b_pitch;
};

// Moves the operands to a tile of C, or, within a tile, to the next stage.
SM void move_to_tile(Operands& operands, const Tile& tile) {
  operands.a += kATransposed ? tile.row : (long long)tile.row * operands.a_pitch;
  operands.b += kBTransposed ? tile.column : (long long)tile.column * operands.b_pitch;
}
SM void move_to_next_stage(Operands& operands) {
  operands.a += kATransposed ? kDepth * operands.a_pitch : kDepth;
  operands.b += kBTransposed ? kDepth * operands.b_pitch : kDepth;
}

// Begins to copy the current stage of the operands to this shared memory address. rows, columns and depth: elements that
// are left along m, n and k.
SM void load_stage(unsigned stage, const Operands& from, int rows, int columns, int depth) {
  if constexpr (kATransposed) load_tile<kDepth, kRows>(stage, from.a, from.a_pitch, depth, rows);
  else load_tile<kRows, kDepth>(stage, from.a, from.a_pitch, rows, depth);
  if constexpr (kBTransposed) load_tile<kDepth, kColumns>(stage + kABytes, from.b, from.b_pitch, depth, columns);
  else load_tile<kColumns, kDepth>(stage + kABytes, from.b, from.b_pitch, columns, depth);
}
