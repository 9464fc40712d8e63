#include "codegen/cuda/few_rows/few_rows_text.h"

#include <fmt/format.h>

#include "codegen/cuda/prelude.h"

namespace smelt {

/// Weights bypass the L1 cache, which keeps A, because all blocks of a multiprocessor read A again. The L2
/// fetches 128 bytes of a row at once; two neighbouring warps load one half each.
const std::string_view kFewRowsInstructions = R"(
SM void load_weights(void* to, const void* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
               "r"(is_there ? 16 : 0) : "memory");
}
SM void end_piece() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until no more than `left` of the pieces that this thread has begun are on their way.
template <int left>
SM void wait_for_pieces() { asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory"); }
SM void load_four(unsigned* to, const Half* from, bool is_there) {
  asm volatile("{.reg .pred p; setp.ne.s32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0;\n"
               "@p ld.global.v4.b32 {%0,%1,%2,%3}, [%4];}"
               : "=&r"(to[0]), "=&r"(to[1]), "=&r"(to[2]), "=&r"(to[3]) : "l"(from), "r"((int)is_there));
}
SM void load_four_staged(unsigned* to, const Half* from, bool is_there) {
  const uint4 words = is_there ? *(const uint4*)from : make_uint4(0, 0, 0, 0);
  to[0] = words.x, to[1] = words.y, to[2] = words.z, to[3] = words.w;
}
SM void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
)";

/// A byte b is u - 128 with u = b ^ 128. The low bits of a float whose last bit has the value 1 are set to u;
/// this makes a whole number, from which an exact subtraction takes the offset.
const std::string_view kWidenBytes = R"(
SM unsigned pick(unsigned x, unsigned y, unsigned bytes) {
  unsigned picked;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(x), "r"(y), "r"(bytes));
  return picked;
}
SM void widen_bf16(unsigned (&to)[2], unsigned from) {
  const unsigned flipped = from ^ 0x80808080u;
  unsigned wide[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    wide[i] = __float_as_uint(__uint_as_float(pick(flipped, 0x4B000000u, 0x7650 + i)) - 8388736.0f);
  to[0] = pick(wide[0], wide[1], 0x7632), to[1] = pick(wide[2], wide[3], 0x7632);
}
SM void widen_f16(unsigned (&to)[2], unsigned from) {
  const unsigned flipped = from ^ 0x80808080u;
#pragma unroll
  for (int i = 0; i < 2; ++i)
    asm("sub.f16x2 %0, %1, %2;" : "=r"(to[i]) : "r"(pick(flipped, 0x64646464u, i ? 0x4342 : 0x4140)), "r"(0x64806480u));
}
)";

namespace {

constexpr int64_t kWarps = kFewRowsThreads / 32, kPieceBytes = 16;
/// Between columns of partial sums in shared memory, beyond the weights: the four lanes that hold
/// neighbouring columns then write to different banks.
constexpr int64_t kPadding = 4;
/// Elements between rows of A in shared memory beyond those that their length needs.
constexpr int64_t kStagedPadding = 32;
/// Returns the rounds whose pieces of A are in registers or in flight: a round takes less time than an access
/// of the L2, and more than one of shared memory.
int rounds_ahead(const FewRowTiles& tiles, bool staged, bool bytes) {
  if (staged) return 2;
  return (tiles.rows == 8 ? 6 : 4) / (bytes ? 2 : 1);
}

/// The tensor cores take weights as their operand of 16 rows, and the rows of A as their operand of 8
/// columns. Both operands may be summed in any order of k, as long as it is the same order. So a lane's
/// elements are those of 16 contiguous bytes, and a lane needs only the weights that it has loaded itself. It
/// keeps them in a ring buffer in shared memory, which has space for more loads in flight than registers. The
/// warps of a block take pieces of 64 bytes of a row of weights along k in turn; the part of a piece beyond k
/// is zero. A block takes one tile after the other, and loads continue from one tile to the next.
constexpr std::string_view kFunction = R"(
// Elements of 16 bytes of weights, and along k of a round of all warps.
constexpr int kPiece = 16 / sizeof(Weight), kRound = 32 * kPiece;

template <bool staged>
SM void load_words(unsigned (&to)[kPiece / 2], const Half* from, bool is_there) {
#pragma unroll
  for (int i = 0; i < kPiece / 8; ++i)
    staged ? load_four_staged(to + 4 * i, from + 8 * i, is_there) : load_four(to + 4 * i, from + 8 * i, is_there);
}
SM void load_row(unsigned (&to)[kPiece / 2], const Half* from, bool is_there) { load_words<false>(to, from, is_there); }
SM void load_staged(unsigned (&to)[kPiece / 2], const Half* from, bool is_there) { load_words<true>(to, from, is_there); }

SM void take_piece(unsigned (&to)[kPiece / 2], const uint4& piece) {
#if BYTES
  const unsigned words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned two[2];
    WIDEN_BYTES(two, words[i]);
    to[2 * i] = two[0], to[2 * i + 1] = two[1];
  }
#else
  to[0] = piece.x, to[1] = piece.y, to[2] = piece.z, to[3] = piece.w;
#endif
}

// A tile: WEIGHTS columns of the product, WEIGHTS / PARTS of each part, by up to ROWS rows of A.
template <class Before, class LoadRows, class Begin, class Put>
SM void few_rows(uint4* ring, const Weight* b, int m, int n, int k, long long b_pitch, Before before,
                 LoadRows load_rows, Begin begin, Put put) {
  float* const partial = (float*)(ring + DEPTH * PIECES * 256);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, quarter = lane & 3;
  const int own = kRound / 8 * warp + kPiece * quarter, rounds = (k + kRound - 1) / kRound;

  int next_first = blockIdx.x * COLUMNS, next_round = 0;
  const auto load_piece = [&](int slot) {
    const int at = own + kRound * next_round;
    if (next_first < n)
#pragma unroll
      for (int i = 0; i < PIECES; ++i) {
        const int column = min(next_first + 8 * (i % (PIECES / PARTS)) + group, n - 1) + i / (PIECES / PARTS) * n;
        load_weights(&ring[(slot * PIECES + i) * 256 + threadIdx.x], b + column * b_pitch + min(at, k - kPiece), at < k);
      }
    end_piece();
    if (++next_round == rounds) next_round = 0, next_first += gridDim.x * COLUMNS;
  };
  sm_allow_next_launch();
  for (int i = 0; i < DEPTH; ++i) load_piece(i);
  sm_wait_for_launches();
  before();

  unsigned as[AHEAD][ROWS / 8][kPiece / 2];
  int slot = 0;
  for (int first = blockIdx.x * COLUMNS; first < n; first += gridDim.x * COLUMNS) {
    float sums[(PIECES + 1) / 2][ROWS / 8][4] = {};
#pragma unroll
    for (int i = 0; i < AHEAD - 1; ++i) load_rows(as[i], i);
    begin(first);
    for (int round = 0; round < rounds; round += AHEAD) {
#pragma unroll
      for (int i = 0; i < AHEAD; ++i) {
        if (round + i >= rounds) break;
        load_rows(as[(i + AHEAD - 1) % AHEAD], round + i + AHEAD - 1);
        wait_for_pieces<DEPTH - 1>();
        unsigned w[PIECES + PIECES % 2][kPiece / 2] = {};
#pragma unroll
        for (int p = 0; p < PIECES; ++p) take_piece(w[p], ring[(slot * PIECES + p) * 256 + threadIdx.x]);
#pragma unroll
        for (int half = 0; half < kPiece / 2; half += 2)
#pragma unroll
          for (int t = 0; t < (PIECES + 1) / 2; ++t)
#pragma unroll
            for (int u = 0; u < ROWS / 8; ++u)
              multiply(sums[t][u], w[2 * t][half], w[2 * t + 1][half], w[2 * t][half + 1], w[2 * t + 1][half + 1],
                       as[i][u][half], as[i][u][half + 1]);
        load_piece(slot);
        slot = slot + 1 == DEPTH ? 0 : slot + 1;
      }
    }

    // The warps' sums are added in their order.
#pragma unroll
    for (int t = 0; t < (PIECES + 1) / 2; ++t)
#pragma unroll
      for (int u = 0; u < ROWS / 8; ++u)
#pragma unroll
        for (int e = 0; e < (PIECES == 1 ? 2 : 4); ++e)
          partial[(warp * ROWS + 8 * u + 2 * quarter + e % 2) * PITCH + 16 * t + group + e / 2 * 8] = sums[t][u][e];
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int i = threadIdx.x + 256 * item, row = i / COLUMNS, column = first + i % COLUMNS;
      if (i >= COLUMNS * ROWS || row >= m || column >= n) continue;
      float whole[PARTS];
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
        whole[part] = 0.0f;
#pragma unroll
        for (int from = 0; from < 8; ++from)
          whole[part] += partial[(from * ROWS + row) * PITCH + part * COLUMNS + i % COLUMNS];
      }
      put(row, column, whole, item);
    }
    __syncthreads();
  }
}
)";

}  // namespace

std::string few_rows_macros(DType dtype, const FewRowTiles& tiles, bool staged, bool bytes) {
  const int columns = tiles.weights / tiles.parts;
  return fmt::format(
      "#define SM static __device__ __forceinline__\n#define MMA_TYPE \"{}\"\n#define ROWS {}\n"
      "#define WEIGHTS {}\n#define PIECES {}\n#define PARTS {}\n#define COLUMNS {}\n#define ITEMS {}\n"
      "#define PITCH {}\n#define DEPTH {}\n#define AHEAD {}\n#define BYTES {}\n#define WIDEN_BYTES "
      "widen_{}\n",
      cuda_memory_type(dtype), tiles.rows, tiles.weights, tiles.weights / 8, tiles.parts, columns,
      (columns * tiles.rows + kFewRowsThreads - 1) / kFewRowsThreads, tiles.weights + kPadding, tiles.depth,
      rounds_ahead(tiles, staged, bytes), bytes ? 1 : 0, cuda_memory_type(dtype));
}

std::string few_rows_function() {
  return fmt::format(
      "typedef unsigned short Half;\n#if BYTES\ntypedef signed char Weight;\n#else\ntypedef Half "
      "Weight;\n#endif\n{}"
      "#if BYTES\n{}#endif\n{}",
      kFewRowsInstructions, kWidenBytes, kFunction);
}

int64_t few_rows_bytes(const FewRowTiles& tiles) {
  const int64_t ring = tiles.depth * (tiles.weights / 8) * kFewRowsThreads * kPieceBytes;
  return ring + kWarps * tiles.rows * (tiles.weights + kPadding) * int64_t{sizeof(float)};
}

int64_t staged_pitch(int64_t k) { return k + kStagedPadding; }

}  // namespace smelt
