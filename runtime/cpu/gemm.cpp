#include "runtime/cpu/gemm.h"

#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/cpu/small_m.h"
#include "runtime/cpu/streamed_gemm.h"

namespace smelt {
namespace {

using Matrix = GemmSizes::Matrix;
using Batch = GemmSizes::Batch;

/// Multiplications and additions below which threads inside one call do not pay.
constexpr double kSmallWork = 4e6;

/// Lines of C in one call: OpenBLAS keeps a packed copy of all of them, 40 MiB for the 50,257 of a
/// vocabulary.
constexpr int64_t kLinesInCall = 8192;

/// Rows of consecutive elements, `leading` apart, as a BLAS takes them.
struct Layout {
  bool by_rows = true;
  int64_t leading = 1;
};

std::optional<Layout> layout(const Matrix& matrix, int64_t rows, int64_t columns, bool prefer_rows = true) {
  const auto fits = [](int64_t step, int64_t length, int64_t leading, int64_t lines) {
    return (step == 1 || length <= 1) && (leading >= length || lines <= 1);
  };
  const auto leading = [](int64_t stride, int64_t lines, int64_t length) {
    return std::max<int64_t>({1, length, lines <= 1 ? 1 : stride});
  };
  const bool row = fits(matrix.column_stride, columns, matrix.row_stride, rows);
  const bool column = fits(matrix.row_stride, rows, matrix.column_stride, columns);
  if (row && (prefer_rows || !column)) return Layout{true, leading(matrix.row_stride, rows, columns)};
  if (column) return Layout{false, leading(matrix.column_stride, columns, rows)};
  return std::nullopt;
}

bool has_layouts(const GemmSizes& s) {
  return layout(s.a, s.m, s.k) && layout(s.b, s.k, s.n) && layout(s.c, s.m, s.n);
}

/// One axis with the same steps, where `outer` continues where `inner` ends.
std::optional<Batch> merged(const Batch& outer, const Batch& inner) {
  const bool continues = outer.reduced == inner.reduced && outer.a == inner.extent * inner.a &&
                         outer.b == inner.extent * inner.b && outer.c == inner.extent * inner.c;
  if (!continues) return std::nullopt;
  Batch axis = inner;
  axis.extent *= outer.extent;
  return axis;
}

/// Stretches a matrix axis of `size` over a batch axis.
bool stretch(int64_t& size, int64_t extent, int64_t& stride_x, int64_t batch_x, int64_t& stride_y,
             int64_t batch_y) {
  if (size == 1) {
    stride_x = batch_x, stride_y = batch_y;
  } else if (batch_x != size * stride_x || batch_y != size * stride_y) {
    return false;
  }
  size *= extent;
  return true;
}

/// Returns the same gemm with one batch axis fewer, where that axis is a continuation of m, n or k.
std::optional<GemmSizes> folded(const GemmSizes& sizes, size_t index) {
  const Batch axis = sizes.batch[index];
  const auto attempt = [&](auto fold) -> std::optional<GemmSizes> {
    GemmSizes s = sizes;
    s.batch.erase(s.batch.begin() + static_cast<std::ptrdiff_t>(index));
    if (!fold(s) || !has_layouts(s)) return std::nullopt;
    return s;
  };
  if (axis.reduced)
    return attempt([&](GemmSizes& s) {
      return stretch(s.k, axis.extent, s.a.column_stride, axis.a, s.b.row_stride, axis.b);
    });
  const auto into_m = [&](GemmSizes& s) {
    return axis.b == 0 && stretch(s.m, axis.extent, s.a.row_stride, axis.a, s.c.row_stride, axis.c);
  };
  const auto into_n = [&](GemmSizes& s) {
    return axis.a == 0 && stretch(s.n, axis.extent, s.b.column_stride, axis.b, s.c.column_stride, axis.c);
  };
  if (auto s = attempt(into_m)) return s;
  return attempt(into_n);
}

bool merge_once(GemmSizes& sizes) {
  for (size_t i = 0; i < sizes.batch.size(); ++i)
    for (size_t j = 0; j < sizes.batch.size(); ++j) {
      const auto axis = i == j ? std::nullopt : merged(sizes.batch[i], sizes.batch[j]);
      if (!axis) continue;
      sizes.batch[j] = *axis;
      sizes.batch.erase(sizes.batch.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
  return false;
}

bool fold_once(GemmSizes& sizes) {
  for (size_t i = 0; i < sizes.batch.size(); ++i)
    if (auto s = folded(sizes, i)) {
      sizes = std::move(*s);
      return true;
    }
  return false;
}

int64_t product(const std::vector<Batch>& axes) {
  int64_t count = 1;
  for (const Batch& axis : axes) count *= axis.extent;
  return count;
}

/// Returns whether there is nothing to multiply: an extent is 0, and strides may be anything.
bool is_empty(const GemmSizes& s) { return s.m == 0 || s.n == 0 || s.k == 0 || product(s.batch) == 0; }

GemmSizes collapsed(GemmSizes sizes) {
  std::erase_if(sizes.batch, [](const Batch& axis) { return axis.extent == 1; });
  if (is_empty(sizes)) return sizes;
  while (merge_once(sizes) || fold_once(sizes)) continue;
  return sizes;
}

void check(const GemmSizes& s, const std::string& place) {
  if (is_empty(s)) return;
  if (!has_layouts(s))
    fail_with(Status::invalid_file, "{}: strides a [{}, {}], b [{}, {}], c [{}, {}]: expected a 1 in each",
              place, s.a.row_stride, s.a.column_stride, s.b.row_stride, s.b.column_stride, s.c.row_stride,
              s.c.column_stride);
  const auto most = std::max({s.m, s.n, s.k, layout(s.a, s.m, s.k)->leading, layout(s.b, s.k, s.n)->leading,
                              layout(s.c, s.m, s.n)->leading});
  if (most > std::numeric_limits<int>::max())
    fail_with(Status::invalid_argument, "{}: a size or stride of {}: expected less than 2^31 for a BLAS",
              place, most);
}

}  // namespace

PreparedGemm::PreparedGemm(const GemmSizes& sizes, const std::string& place) : sizes_(collapsed(sizes)) {
  check(sizes_, place);
  for (const Batch& axis : sizes_.batch) (axis.reduced ? inner_ : outer_).push_back(axis);
  outer_count_ = product(outer_);
  inner_count_ = product(inner_);
}

PreparedGemm::Offsets PreparedGemm::offsets(const std::vector<Batch>& axes, int64_t index) {
  Offsets at;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const int64_t i = index % axis->extent;
    index /= axis->extent;
    at.a += i * axis->a, at.b += i * axis->b, at.c += i * axis->c;
  }
  return at;
}

bool PreparedGemm::in_parallel() const {
  const int64_t threads = omp_get_max_threads();
  if (threads == 1 || outer_count_ == 1) return false;
  const double work = 2.0 * static_cast<double>(sizes_.m) * static_cast<double>(sizes_.n) *
                      static_cast<double>(sizes_.k) * static_cast<double>(inner_count_);
  return work < kSmallWork || outer_count_ >= 4 * threads;
}

void PreparedGemm::run(const float* a, const float* b, float* c) const {
  if (outer_count_ == 0 || sizes_.m == 0 || sizes_.n == 0) return;
  if (!in_parallel()) {
    for (int64_t i = 0; i < outer_count_; ++i) run_outer(a, b, c, i);
    return;
  }
  // The OpenMP build of OpenBLAS stays on one thread inside a parallel region.
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t i = 0; i < outer_count_; ++i) run_outer(a, b, c, i);
}

void PreparedGemm::run_outer(const float* a, const float* b, float* c, int64_t outer) const {
  const Offsets at = offsets(outer_, outer);
  if (sizes_.k == 0 || inner_count_ == 0) return scale(c + at.c);
  for (int64_t i = 0; i < inner_count_; ++i) {
    const Offsets in = offsets(inner_, i);
    call(a + at.a + in.a, b + at.b + in.b, c + at.c, i == 0 ? static_cast<float>(sizes_.beta) : 1.0f);
  }
}

/// C = beta * C: an empty sum.
void PreparedGemm::scale(float* c) const {
  const float beta = static_cast<float>(sizes_.beta);
  for (int64_t i = 0; i < sizes_.m; ++i)
    for (int64_t j = 0; j < sizes_.n; ++j) {
      float& element = c[i * sizes_.c.row_stride + j * sizes_.c.column_stride];
      element = beta == 0 ? 0 : beta * element;
    }
}

void PreparedGemm::call(const float* a, const float* b, float* c, float beta) const {
  if (call_small_m(a, b, c, beta) || call_streamed(a, b, c, beta)) return;
  if (sizes_.m == 1 || sizes_.n == 1) return call_vector(a, b, c, beta);
  const bool by_rows = layout(sizes_.c, sizes_.m, sizes_.n)->by_rows;
  const int64_t lines = by_rows ? sizes_.m : sizes_.n;
  for (int64_t i = 0; i < lines; i += kLinesInCall) {
    const int64_t count = std::min(kLinesInCall, lines - i);
    if (by_rows)
      call_block(a + i * sizes_.a.row_stride, b, c + i * sizes_.c.row_stride, beta, count, sizes_.n);
    else
      call_block(a, b + i * sizes_.b.column_stride, c + i * sizes_.c.column_stride, beta, sizes_.m, count);
  }
}

void PreparedGemm::call_block(const float* a, const float* b, float* c, float beta, int64_t m,
                              int64_t n) const {
  const Layout out = *layout(sizes_.c, m, n);
  const auto in_a = *layout(sizes_.a, m, sizes_.k, out.by_rows);
  const auto in_b = *layout(sizes_.b, sizes_.k, n, out.by_rows);
  const auto transposed = [&](const Layout& in) {
    return in.by_rows == out.by_rows ? CblasNoTrans : CblasTrans;
  };
  cblas_sgemm(out.by_rows ? CblasRowMajor : CblasColMajor, transposed(in_a), transposed(in_b),
              static_cast<int>(m), static_cast<int>(n), static_cast<int>(sizes_.k),
              static_cast<float>(sizes_.alpha), a, static_cast<int>(in_a.leading), b,
              static_cast<int>(in_b.leading), beta, c, static_cast<int>(out.leading));
}

/// Handles few rows, or few columns, of C, if the elements along k of both matrices are contiguous.
bool PreparedGemm::call_small_m(const float* a, const float* b, float* c, float beta) const {
  constexpr int64_t kLeast = 16;  // numbers along k
  const GemmSizes& s = sizes_;
  const auto alpha = static_cast<float>(s.alpha);
  if (s.a.column_stride != 1 || s.b.row_stride != 1 || s.k < kLeast) return false;
  if (std::min(s.m, s.n) > SmallM::kMostRows) return false;
  const SmallM rows{s.m,  s.n, s.k, s.a.row_stride, s.b.column_stride, s.c.row_stride, s.c.column_stride,
                    alpha};
  const SmallM columns{s.n,  s.m, s.k, s.b.column_stride, s.a.row_stride, s.c.column_stride, s.c.row_stride,
                       alpha};
  s.m < s.n ? rows.run(a, b, c, beta) : columns.run(b, a, c, beta);
  return true;
}

/// Handles up to hundreds of rows, or columns, of C, if the elements along k of both matrices are contiguous.
bool PreparedGemm::call_streamed(const float* a, const float* b, float* c, float beta) const {
  const GemmSizes& s = sizes_;
  if (s.a.column_stride != 1 || s.b.row_stride != 1) return false;
  const auto alpha = static_cast<float>(s.alpha);
  const StreamedGemm rows{
      s.m, s.n, s.k, s.a.row_stride, s.b.column_stride, s.c.row_stride, s.c.column_stride, alpha};
  const StreamedGemm columns{
      s.n, s.m, s.k, s.b.column_stride, s.a.row_stride, s.c.column_stride, s.c.row_stride, alpha};
  const bool is_wide = s.m < s.n;
  if (!(is_wide ? rows : columns).is_worthwhile()) return false;
  is_wide ? rows.run(a, b, c, beta) : columns.run(b, a, c, beta);
  return true;
}

/// A row or a column of C: y = alpha * M x + beta * y, without the copies that a GEMM makes of M.
void PreparedGemm::call_vector(const float* a, const float* b, float* c, float beta) const {
  const bool column = sizes_.n == 1;
  const int64_t length = column ? sizes_.m : sizes_.n;
  const int64_t step = length == 1 ? 1 : column ? sizes_.c.row_stride : sizes_.c.column_stride;
  const int64_t step_x = sizes_.k == 1 ? 1 : column ? sizes_.b.row_stride : sizes_.a.column_stride;
  // [length, k], whichever of a and b^T it is.
  const Matrix m = column ? sizes_.a : Matrix{sizes_.b.column_stride, sizes_.b.row_stride};
  const Layout in = *layout(m, length, sizes_.k);
  if (beta == 0)  // also where y holds NaNs
    for (int64_t i = 0; i < length; ++i) c[i * step] = 0;
  cblas_sgemv(in.by_rows ? CblasRowMajor : CblasColMajor, CblasNoTrans, static_cast<int>(length),
              static_cast<int>(sizes_.k), static_cast<float>(sizes_.alpha), column ? a : b,
              static_cast<int>(in.leading), column ? b : a, static_cast<int>(step_x), beta == 0 ? 1.0f : beta,
              c, static_cast<int>(step));
}

}  // namespace smelt
