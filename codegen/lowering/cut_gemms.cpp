#include "codegen/lowering/lower.h"

namespace smelt {
namespace {

constexpr int64_t kMultiple = 8, kLeastCut = 4096;

/// Returns the begin of the remainder of an extent; 0 where the extent is not split.
int64_t cut_of(const Dim& extent) {
  const auto count = extent.constant();
  return count && *count >= kLeastCut && *count % kMultiple != 0 ? *count - *count % kMultiple : 0;
}

void advance(BufferRef& place, const Dim& stride, int64_t by) { place.offset += stride * Dim(by); }

using Cut = std::vector<GemmStep>;

Cut along_rows(const GemmStep& step) {
  const int64_t at = cut_of(step.m);
  if (at == 0) return {step};
  GemmStep main = step, rest = step;
  main.m = at, rest.m = step.m - Dim(at);
  advance(rest.a.base, step.a.row_stride, at), advance(rest.c.base, step.c.row_stride, at);
  return {main, rest};
}

Cut along_columns(const GemmStep& step) {
  const int64_t at = cut_of(step.n);
  if (at == 0) return {step};
  GemmStep main = step, rest = step;
  main.n = at, rest.n = step.n - Dim(at);
  advance(rest.b.base, step.b.column_stride, at), advance(rest.c.base, step.c.column_stride, at);
  if (rest.bias) advance(*rest.bias, 1, at);
  return {main, rest};
}

/// The few products first: what is rounded between the two is small.
Cut along_depth(const GemmStep& step) {
  const int64_t at = cut_of(step.k);
  if (at == 0 || step.in_order) return {step};
  GemmStep main = step, rest = step;
  main.k = at, rest.k = step.k - Dim(at);
  advance(rest.a.base, step.a.column_stride, at), advance(rest.b.base, step.b.row_stride, at);
  main.beta = 1, main.bias.reset();
  return {rest, main};
}

}  // namespace

std::vector<GemmStep> cut_gemm(const GemmStep& step) {
  Cut steps = {step};
  if (step.dtype != DType::bf16 && step.dtype != DType::f16) return steps;
  for (const auto& cut : {along_rows, along_columns, along_depth}) {
    Cut cuts;
    for (const GemmStep& one : steps)
      for (GemmStep& part : cut(one)) cuts.push_back(std::move(part));
    steps = std::move(cuts);
  }
  return steps;
}

}  // namespace smelt
