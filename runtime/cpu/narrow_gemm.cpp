#include "runtime/cpu/narrow_gemm.h"

#include <algorithm>

#include "runtime/convert.h"

namespace smelt {
namespace {

using Batch = GemmSizes::Batch;

/// Calls f(first element, elements) for every run of C, element by element where rows are strided too.
template <typename F>
void for_each_run(const GemmSizes& s, size_t axis, int64_t at, const F& f) {
  if (axis < s.batch.size()) {
    const Batch& batch = s.batch[axis];
    const int64_t times = batch.reduced ? std::min<int64_t>(batch.extent, 1) : batch.extent;
    for (int64_t i = 0; i < times; ++i) for_each_run(s, axis + 1, at + i * batch.c, f);
    return;
  }
  const bool by_rows = s.c.column_stride == 1 || s.n == 1;
  const int64_t lines = by_rows ? s.m : s.n, length = by_rows ? s.n : s.m;
  const int64_t line = by_rows ? s.c.row_stride : s.c.column_stride;
  for (int64_t i = 0; i < lines; ++i) f(at + i * line, length);
}

}  // namespace

TypedGemm::TypedGemm(const GemmSizes& sizes, DType operands, DType result, const std::string& place)
    : sizes_(sizes), operands_(operands), result_(result), gemm_(sizes, place) {}

int64_t TypedGemm::reach(const GemmSizes::Matrix& matrix, int64_t rows, int64_t columns,
                         int64_t Batch::* stride) const {
  int64_t last = (rows - 1) * matrix.row_stride + (columns - 1) * matrix.column_stride;
  for (const Batch& batch : sizes_.batch) last += (batch.extent - 1) * (batch.*stride);
  const bool empty = rows == 0 || columns == 0 ||
                     std::ranges::any_of(sizes_.batch, [](const Batch& b) { return b.extent == 0; });
  return empty ? 0 : last + 1;
}

const float* TypedGemm::widened(const void* from, int64_t count, std::vector<float>& scratch) const {
  if (operands_ == DType::f32) return static_cast<const float*>(from);
  scratch.resize(static_cast<size_t>(count));
  widen(from, operands_, scratch.data(), count);
  return scratch.data();
}

void TypedGemm::read_result(const void* c, std::vector<float>& scratch) const {
  widen(c, result_, scratch.data(), static_cast<int64_t>(scratch.size()));
}

/// Only elements of C: what lies between its rows belongs to others.
void TypedGemm::write_result(const std::vector<float>& scratch, void* c) const {
  auto* to = static_cast<std::byte*>(c);
  for_each_run(sizes_, 0, 0, [&](int64_t at, int64_t count) {
    narrow(scratch.data() + at, to + at * size_of(result_), result_, count);
  });
}

void TypedGemm::add_bias(const void* bias, float* c) const {
  std::vector<float> wide(static_cast<size_t>(sizes_.n));
  widen(bias, result_, wide.data(), sizes_.n);
  for_each_run(sizes_, 0, 0, [&](int64_t at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) c[at + i] += wide[static_cast<size_t>(i)];
  });
}

void TypedGemm::run(const void* a, const void* b, void* c, const void* bias) const {
  std::vector<float> wide_a, wide_b, wide_c;
  const float* from_a = widened(a, reach(sizes_.a, sizes_.m, sizes_.k, &Batch::a), wide_a);
  const float* from_b = widened(b, reach(sizes_.b, sizes_.k, sizes_.n, &Batch::b), wide_b);
  if (result_ == DType::f32) {
    gemm_.run(from_a, from_b, static_cast<float*>(c));
    if (bias) add_bias(bias, static_cast<float*>(c));
    return;
  }
  wide_c.resize(static_cast<size_t>(reach(sizes_.c, sizes_.m, sizes_.n, &Batch::c)));
  if (sizes_.beta != 0) read_result(c, wide_c);
  gemm_.run(from_a, from_b, wide_c.data());
  if (bias) add_bias(bias, wide_c.data());
  write_result(wide_c, c);
}

}  // namespace smelt
