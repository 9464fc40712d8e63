#include "runtime/cpu/byte_gemm.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <memory>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace smelt {
namespace {
namespace bytes {

constexpr int64_t kPanel = 48;             // columns of B that are packed and multiplied together
constexpr int64_t kQuad = 4;               // products along k that one instruction adds up
constexpr int kRows = 8;                   // of a block of C whose sums fit into the registers
constexpr int64_t kLeastWork = 1 << 18;    // products from which on threads pay
constexpr int64_t kTooManyRows = 1 << 12;  // of a part of A, so that threads share the work evenly

/// A panel of B: for each group of four k, the four numbers of each column, plus 128, so that they are
/// unsigned, as an operand of the instruction is. Numbers beyond B are 128: 0 before 128 is added.
struct Panel {
  uint8_t* to;
  const int8_t* from;
  int64_t k, columns, k_stride, column_stride;

  void pack() const {
    std::memset(to, 128, static_cast<size_t>((k + kQuad - 1) / kQuad * kQuad * kPanel));
    k_stride == 1 ? pack_quads() : pack_numbers();
  }
  /// Copies four numbers at a time.
  void pack_quads() const {
    for (int64_t column = 0; column < columns; ++column) {
      const int8_t* line = from + column * column_stride;
      uint8_t* at = to + column * kQuad;
      int64_t i = 0;
      for (; i + kQuad <= k; i += kQuad, at += kPanel * kQuad) {
        uint32_t quad = 0;
        std::memcpy(&quad, line + i, sizeof quad);
        quad ^= 0x80808080U;
        std::memcpy(at, &quad, sizeof quad);
      }
      for (int64_t rest = i; rest < k; ++rest) at[rest - i] = static_cast<uint8_t>(line[rest] + 128);
    }
  }
  void pack_numbers() const {
    for (int64_t i = 0; i < k; ++i)
      for (int64_t column = 0; column < columns; ++column)
        to[i / kQuad * kQuad * kPanel + column * kQuad + i % kQuad] =
            static_cast<uint8_t>(from[i * k_stride + column * column_stride] + 128);
  }
};

/// Rows of A with contiguous numbers along k, and the place of their sums, for one panel.
struct Block {
  const int8_t* a;
  int64_t a_stride, k;
  const uint8_t* panel;
  int32_t* sums;  // [rows, kPanel]
};

/// Sums 128 too large by each term, minus 128 times the sum of A's row.
void add_rows(const Block& block, int rows) {
  for (int r = 0; r < rows; ++r) {
    const int8_t* row = block.a + r * block.a_stride;
    int32_t* sums = block.sums + r * kPanel;
    int32_t of_row = 0;
    for (int64_t i = 0; i < block.k; ++i) of_row += row[i];
    std::fill_n(sums, kPanel, -128 * of_row);
    for (int64_t i = 0; i < block.k; ++i) {
      const uint8_t* quads = block.panel + i / kQuad * kQuad * kPanel + i % kQuad;
      for (int64_t column = 0; column < kPanel; ++column) sums[column] += row[i] * quads[column * kQuad];
    }
  }
}

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vnni")

/// The four numbers from the i-th on; zeros beyond the last.
inline int32_t quad_of(const int8_t* row, int64_t i, int64_t k) {
  int32_t quad = 0;
  if (i + kQuad <= k)
    std::memcpy(&quad, row + i, sizeof quad);
  else
    std::memcpy(&quad, row + i, static_cast<size_t>(k - i));
  return quad;
}

inline int32_t sum_of(const __m512i& numbers) {
  int32_t each[16], sum = 0;
  _mm512_storeu_si512(each, numbers);
  for (const int32_t number : each) sum += number;
  return sum;
}

template <int R>
void add_rows_vnni(const Block& block) {
  constexpr int kVectors = kPanel / 16;
  __m512i sums[R][kVectors], of_rows[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    of_rows[r] = _mm512_setzero_si512();
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_si512();
  }
  const auto add = [&](int64_t i, const auto& quad) __attribute__((always_inline)) {
    __m512i columns[kVectors];
    const uint8_t* from = block.panel + i * kPanel;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) columns[v] = _mm512_loadu_si512(from + v * 64);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const __m512i numbers = _mm512_set1_epi32(quad(block.a + r * block.a_stride, i));
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], columns[v], numbers);
    }
  };
  int64_t i = 0;
  for (; i + kQuad <= block.k; i += kQuad)
    add(i, [](const int8_t* row, int64_t at) {
      int32_t quad = 0;
      std::memcpy(&quad, row + at, sizeof quad);
      return quad;
    });
  if (i < block.k) add(i, [&](const int8_t* row, int64_t at) { return quad_of(row, at, block.k); });
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const int8_t* row = block.a + r * block.a_stride;
    int64_t at = 0;
    for (; at + 64 <= block.k; at += 64)
      of_rows[r] = _mm512_dpbusd_epi32(of_rows[r], _mm512_set1_epi8(1), _mm512_loadu_si512(row + at));
    if (at < block.k)
      of_rows[r] =
          _mm512_dpbusd_epi32(of_rows[r], _mm512_set1_epi8(1),
                              _mm512_maskz_loadu_epi8((uint64_t{1} << (block.k - at)) - 1, row + at));
    const __m512i shift = _mm512_set1_epi32(128 * sum_of(of_rows[r]));
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      _mm512_storeu_si512(block.sums + r * kPanel + v * 16, _mm512_sub_epi32(sums[r][v], shift));
  }
}

void add_rows_wide(const Block& block, int rows) {
  if (rows == kRows) return add_rows_vnni<kRows>(block);
  constexpr int kFew = 4;
  Block part = block;
  for (; rows > 0; part.a += kFew * part.a_stride, part.sums += kFew * kPanel, rows -= kFew) {
    if (rows >= kFew) {
      add_rows_vnni<kFew>(part);
      continue;
    }
    for (; rows > 0; --rows, part.a += part.a_stride, part.sums += kPanel) add_rows_vnni<1>(part);
  }
}
#pragma GCC pop_options
#endif

using AddRows = void (*)(const Block&, int);

AddRows widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw")) return add_rows_wide;
#endif
  return add_rows;
}

/// Destination of the sums of a block.
struct Result {
  int32_t* c;
  int64_t row_stride, column_stride;
  bool adds;

  void put(const int32_t* sums, int64_t row, int rows, int64_t column, int64_t columns) const {
    for (int r = 0; r < rows; ++r) {
      const int32_t* from = sums + r * kPanel;
      int32_t* to = c + (row + r) * row_stride + column * column_stride;
      if (column_stride == 1 && !adds) {
        std::copy_n(from, columns, to);
        continue;
      }
      for (int64_t i = 0; i < columns; ++i) {
        int32_t& sum = to[i * column_stride];
        sum = adds ? sum + from[i] : from[i];
      }
    }
  }
};

int64_t parts_of(int64_t whole, int64_t size) { return (whole + size - 1) / size; }

}  // namespace bytes
}  // namespace

void ByteGemm::run(const int8_t* a, const int8_t* b, int32_t* c) const {
  run_batch(0, a, b, c, sizes_.beta != 0);
}

void ByteGemm::run_batch(size_t axis, const int8_t* a, const int8_t* b, int32_t* c, bool adds) const {
  if (axis == sizes_.batch.size()) return multiply(a, b, c, adds);
  const GemmSizes::Batch& batch = sizes_.batch[axis];
  for (int64_t i = 0; i < batch.extent; ++i)
    run_batch(axis + 1, a + i * batch.a, b + i * batch.b, c + i * batch.c, adds || (batch.reduced && i > 0));
}

/// Every thread packs a panel, and multiplies a part of the rows by it. Rows of A with a stride along k are
/// copied first.
void ByteGemm::multiply(const int8_t* a, const int8_t* b, int32_t* c, bool adds) const {
  using namespace bytes;
  const GemmSizes& s = sizes_;
  static const AddRows add = widest();
  std::vector<int8_t> copied;
  int64_t a_stride = s.a.row_stride;
  if (s.a.column_stride != 1 && s.k > 1) {
    copied.resize(static_cast<size_t>(s.m * s.k));
    for (int64_t row = 0; row < s.m; ++row)
      for (int64_t i = 0; i < s.k; ++i)
        copied[static_cast<size_t>(row * s.k + i)] = a[row * s.a.row_stride + i * s.a.column_stride];
    a = copied.data(), a_stride = s.k;
  }
  const Result result{c, s.c.row_stride, s.c.column_stride, adds};
  const bool alone = s.m * s.n * s.k < kLeastWork;
  const int64_t panels = parts_of(s.n, kPanel), threads = alone ? 1 : omp_get_max_threads();
  const int64_t parts =
      std::max(parts_of(s.m, kTooManyRows), std::min(parts_of(threads, std::max<int64_t>(panels, 1)), s.m));
#pragma omp parallel num_threads(static_cast<int>(threads)) if (threads > 1)
  {
    const auto packed =
        std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(parts_of(s.k, kQuad) * kQuad * kPanel));
    int32_t sums[kRows * kPanel];
#pragma omp for schedule(dynamic)
    for (int64_t task = 0; task < panels * parts; ++task) {
      const int64_t column = task / parts * kPanel, columns = std::min(kPanel, s.n - column);
      const int64_t part = task % parts, end = s.m * (part + 1) / parts;
      Panel{packed.get(), b + column * s.b.column_stride, s.k, columns, s.b.row_stride, s.b.column_stride}
          .pack();
      for (int64_t row = s.m * part / parts; row < end; row += kRows) {
        const int rows = static_cast<int>(std::min<int64_t>(kRows, end - row));
        add({a + row * a_stride, a_stride, s.k, packed.get(), sums}, rows);
        result.put(sums, row, rows, column, columns);
      }
    }
  }
}

}  // namespace smelt
