#include "runtime/cpu/streamed_gemm.h"

#include <omp.h>

#include <algorithm>
#include <memory>
#include <new>

namespace smelt {
namespace {
namespace streamed {

constexpr int64_t kMostRowsOfW = 96;       // that a thread multiplies at a time
constexpr int64_t kStep = 24;              // of their number: whole tiles of all kinds
constexpr int64_t kMostK = 384;            // products that are added before their sum is added to others
constexpr int64_t kLeastMatrix = 1 << 16;  // numbers of w from which on packing and threads pay
constexpr std::align_val_t kAlignment{64};

using Floats4 = float __attribute__((vector_size(4 * sizeof(float)), aligned(alignof(float)), may_alias));

/// Division of `whole` into parts of nearly equal size.
struct Parts {
  int64_t whole, count;
  Parts(int64_t size, int64_t most) : whole(size), count((size + most - 1) / most) {}
  int64_t begin(int64_t part) const { return whole * part / count; }
};

/// Order of the packed rows of x. A tile has a few vectors of rows. The tile's numbers are contiguous: all of
/// its rows for k = 0, then all for k = 1. Rows that x does not have are 0. Sums are computed for blocks of
/// k.
struct Tiling {
  int64_t lanes, k;
  Parts tiles, depths;  // of vectors, and of k
  int64_t vectors(int64_t tile) const { return tiles.begin(tile + 1) - tiles.begin(tile); }
  int64_t place(int64_t tile, int64_t at_k) const {
    return lanes * (tiles.begin(tile) * k + vectors(tile) * at_k);
  }
  int64_t padded_rows() const { return tiles.whole * lanes; }
  /// Is not a multiple of a page, because columns of such a matrix share few lines of the cache.
  int64_t sums_stride() const { return padded_rows() + 16; }
};

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
constexpr int kLanes = 8, kSums = 12;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));
#include "runtime/cpu/streamed_gemm_tiles.inc"
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
namespace avx512 {
constexpr int kLanes = 16, kSums = 24;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));
#include "runtime/cpu/streamed_gemm_tiles.inc"
}  // namespace avx512
#pragma GCC pop_options
#endif

/// Code for one instruction set.
struct Code {
  int64_t lanes = 0, most_vectors = 0;  // of a tile
  void (*multiply)(const StreamedGemm&, const Tiling&, const float*, const float*, float*, int64_t) = nullptr;
};

Code best_code() {
#if defined(__x86_64__) && !defined(__clang__)
  if (__builtin_cpu_supports("avx512f")) return {avx512::kLanes, 4, avx512::multiply};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {avx2::kLanes, 3, avx2::multiply};
#endif
  return {};
}

const Code& code() {
  static const Code best = best_code();
  return best;
}

/// Returns the rows of w per block, such that all threads have the same number of blocks.
int64_t rows_of_block(int64_t rows, int64_t threads) {
  const int64_t blocks = threads * Parts(rows, threads * kMostRowsOfW).count;
  return Parts(rows, blocks * kStep).count * kStep;
}

struct Release {
  void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
};
using Floats = std::unique_ptr<float[], Release>;

Floats floats(int64_t count) {
  return Floats(static_cast<float*>(::operator new(static_cast<size_t>(count) * sizeof(float), kAlignment)));
}

/// Transposes four rows of four numbers.
void transpose(Floats4 (&x)[4]) {
  const Floats4 low01 = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5),
                high01 = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7),
                low23 = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5),
                high23 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
  x[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  x[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  x[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  x[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

/// Writes put(&to[j * to_stride + i], from[i * from_stride + j]) for i < rows and j < columns, four by four
/// where possible.
template <typename Put>
void put_transposed(const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t rows,
                    int64_t columns, const Put& put) {
  const int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (int64_t j = 0; j < whole_columns; j += 4)
    for (int64_t i = 0; i < whole_rows; i += 4) {
      Floats4 square[4];
      for (int r = 0; r < 4; ++r)
        square[r] = *reinterpret_cast<const Floats4*>(from + (i + r) * from_stride + j);
      transpose(square);
      for (int r = 0; r < 4; ++r) put(reinterpret_cast<Floats4*>(to + (j + r) * to_stride + i), square[r]);
    }
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = j < whole_columns ? whole_rows : 0; i < rows; ++i)
      put(to + j * to_stride + i, from[i * from_stride + j]);
}

/// Packs a block of k of a tile of rows.
void pack(const StreamedGemm& p, const Tiling& t, const float* x, float* packed, int64_t tile,
          int64_t depth) {
  const int64_t k = t.depths.begin(depth), count = t.depths.begin(depth + 1) - k;
  const int64_t first = t.tiles.begin(tile) * t.lanes, width = t.vectors(tile) * t.lanes;
  const int64_t rows = std::min(width, p.rows - first);
  float* to = packed + t.place(tile, k);
  put_transposed(x + first * p.x_stride + k, p.x_stride, to, width, rows, count,
                 [](auto* at, const auto& value) { *at = value; });
  for (int64_t i = 0; i < count; ++i) std::fill(to + i * width + rows, to + (i + 1) * width, 0.0f);
}

/// Writes `columns` columns of y, whose sums are contiguous along rows.
void put_columns(const StreamedGemm& p, const float* sums, int64_t sums_stride, float* y, float beta,
                 int64_t columns) {
  const auto put = [&](auto* to, const auto& sum) {
    *to = beta == 0 ? p.alpha * sum : p.alpha * sum + beta * *to;
  };
  if (p.y_column_stride == 1) return put_transposed(sums, sums_stride, y, p.y_stride, columns, p.rows, put);
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < p.rows; ++i)
      put(y + j * p.y_column_stride + i * p.y_stride, sums[j * sums_stride + i]);
}

}  // namespace streamed
}  // namespace

bool StreamedGemm::is_supported() { return streamed::code().multiply != nullptr; }

bool StreamedGemm::is_worthwhile() const {
  return is_supported() && rows <= kMostRows && columns * k >= streamed::kLeastMatrix;
}

void StreamedGemm::run(const float* x, const float* w, float* y, float beta) const {
  using namespace streamed;
  const Code& best = code();
  const Tiling t{best.lanes, k, {(rows + best.lanes - 1) / best.lanes, best.most_vectors}, {k, kMostK}};
  const int threads = columns * k < kLeastMatrix ? 1 : omp_get_max_threads();
  const int64_t block = rows_of_block(columns, threads), sums_of_thread = block * t.sums_stride();
  const Floats packed = floats(t.padded_rows() * k), sums = floats(threads * sums_of_thread);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < t.tiles.count * t.depths.count; ++i)
      pack(*this, t, x, packed.get(), i / t.depths.count, i % t.depths.count);
    float* own = sums.get() + omp_get_thread_num() * sums_of_thread;
#pragma omp for schedule(static)
    for (int64_t j = 0; j < columns; j += block) {
      const int64_t count = std::min(block, columns - j);
      best.multiply(*this, t, packed.get(), w + j * w_stride, own, count);
      put_columns(*this, own, t.sums_stride(), y + j * y_column_stride, beta, count);
    }
  }
}

}  // namespace smelt
