#include "runtime/cpu/narrow_gemm.h"

#include <algorithm>
#include <memory>

#include "runtime/base/convert.h"
#include "runtime/base/error.h"
#include "runtime/cpu/bind_step.h"
#include "runtime/cpu/byte_gemm.h"

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

/// Memory that is not set to zero, which would take as long as to fill it.
std::unique_ptr<float[]> scratch_for(int64_t count) {
  return std::make_unique_for_overwrite<float[]>(static_cast<size_t>(count));
}

/// Small-M GEMM with the i8 matrix, if elements along k are contiguous in both operands and no batch repeats.
std::optional<SmallM> small_m_of(const GemmSizes& s, ByteOperands bytes) {
  const bool single = std::ranges::all_of(s.batch, [](const Batch& axis) { return axis.extent == 1; });
  const bool lie_together = (s.a.column_stride == 1 && s.b.row_stride == 1) || s.k == 1;
  if (bytes.a == bytes.b || !single || !lie_together || s.k == 0) return std::nullopt;
  const auto alpha = static_cast<float>(s.alpha);
  const SmallM rows{s.m,  s.n, s.k, s.a.row_stride, s.b.column_stride, s.c.row_stride, s.c.column_stride,
                    alpha};
  const SmallM columns{s.n,  s.m, s.k, s.b.column_stride, s.a.row_stride, s.c.column_stride, s.c.row_stride,
                       alpha};
  const SmallM& few = bytes.b ? rows : columns;
  return few.rows <= SmallM::kMostRows ? std::optional(few) : std::nullopt;
}

}  // namespace

TypedGemm::TypedGemm(const GemmSizes& sizes, DType operands, DType result, const std::string& place,
                     ByteOperands bytes)
    : sizes_(sizes),
      operands_(operands),
      result_(result),
      bytes_(bytes),
      few_(small_m_of(sizes, bytes)),
      gemm_(sizes, place) {}

int64_t TypedGemm::reach(const GemmSizes::Matrix& matrix, int64_t rows, int64_t columns,
                         int64_t Batch::* stride) const {
  int64_t last = (rows - 1) * matrix.row_stride + (columns - 1) * matrix.column_stride;
  for (const Batch& batch : sizes_.batch) last += (batch.extent - 1) * (batch.*stride);
  const bool empty = rows == 0 || columns == 0 ||
                     std::ranges::any_of(sizes_.batch, [](const Batch& b) { return b.extent == 0; });
  return empty ? 0 : last + 1;
}

const float* TypedGemm::widened(const void* from, DType dtype, int64_t count, Scratch& scratch) {
  if (dtype == DType::f32) return static_cast<const float*>(from);
  scratch = scratch_for(count);
  widen(from, dtype, scratch.get(), count);
  return scratch.get();
}

void TypedGemm::multiply(const void* a, const void* b, float* c) const {
  Scratch wide_a, wide_b;
  const auto beta = static_cast<float>(sizes_.beta);
  const auto a_reach = reach(sizes_.a, sizes_.m, sizes_.k, &Batch::a),
             b_reach = reach(sizes_.b, sizes_.k, sizes_.n, &Batch::b);
  if (few_ && bytes_.b)
    return few_->run(widened(a, operands_, a_reach, wide_a), static_cast<const int8_t*>(b), c, beta);
  if (few_) return few_->run(widened(b, operands_, b_reach, wide_b), static_cast<const int8_t*>(a), c, beta);
  const float* from_a = widened(a, bytes_.a ? DType::i8 : operands_, a_reach, wide_a);
  gemm_.run(from_a, widened(b, bytes_.b ? DType::i8 : operands_, b_reach, wide_b), c);
}

/// Writes elements of C only, because memory between its rows belongs to other tensors.
void TypedGemm::write_result(const float* scratch, void* c) const {
  auto* to = static_cast<std::byte*>(c);
  for_each_run(sizes_, 0, 0, [&](int64_t at, int64_t count) {
    narrow(scratch + at, to + at * size_of(result_), result_, count);
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
  if (result_ == DType::f32) {
    multiply(a, b, static_cast<float*>(c));
    if (bias) add_bias(bias, static_cast<float*>(c));
    return;
  }
  const int64_t count = reach(sizes_.c, sizes_.m, sizes_.n, &Batch::c);
  const Scratch wide_c = scratch_for(count);
  if (sizes_.beta != 0) widen(c, result_, wide_c.get(), count);
  multiply(a, b, wide_c.get());
  if (bias) add_bias(bias, wide_c.get());
  write_result(wide_c.get(), c);
}

namespace {

GemmSizes sizes_of(const GemmStep& step, StepBinder& binder) {
  const auto value = [&](const Dim& dim) { return binder.value(dim); };
  const auto matrix = [&](const GemmStep::Matrix& m) {
    return GemmSizes::Matrix{value(m.row_stride), value(m.column_stride)};
  };
  GemmSizes sizes{value(step.m),  value(step.n),  value(step.k), matrix(step.a),
                  matrix(step.b), matrix(step.c), step.alpha,    step.beta};
  for (const GemmStep::Batch& batch : step.batch)
    sizes.batch.push_back({value(batch.extent), value(batch.a_stride), value(batch.b_stride),
                           batch.reduced ? 0 : value(batch.c_stride), batch.reduced});
  return sizes;
}

Launch bind_bytes(const GemmStep& step, StepBinder& binder) {
  return [gemm = ByteGemm(sizes_of(step, binder)), a = binder.pointer<int8_t>(step.a.base),
          b = binder.pointer<int8_t>(step.b.base),
          c = binder.pointer<int32_t>(step.c.base)](const StepRun&) { gemm.run(a, b, c); };
}

}  // namespace

Launch bind_step(const GemmStep& step, StepBinder& binder) {
  if (step.dtype == DType::i8) return bind_bytes(step, binder);
  if (step.a_scale || step.b_scale)
    fail_with(Status::invalid_file, "{}: a GEMM with scales, which only a GPU has", binder.name());
  for (DType dtype : {step.dtype, step.result_dtype})
    if (!is_float(dtype) || dtype == DType::f64)
      fail_with(Status::invalid_file, "{}: a GEMM of {} matrices: expected f32, bf16, f16 or f8e4m3",
                binder.name(), name(dtype));
  std::optional<BoundPointer<void>> bias;
  if (step.bias) bias = binder.pointer<void>(*step.bias);
  return [gemm = TypedGemm(sizes_of(step, binder), step.dtype, step.result_dtype, binder.name(),
                           {step.a_i8, step.b_i8}),
          a = binder.pointer<void>(step.a.base), b = binder.pointer<void>(step.b.base),
          c = binder.pointer<void>(step.c.base),
          bias](const StepRun&) { gemm.run(a, b, c, bias ? static_cast<void*>(*bias) : nullptr); };
}

}  // namespace smelt
