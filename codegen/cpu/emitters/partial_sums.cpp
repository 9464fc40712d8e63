#include "codegen/cpu/emitters/partial_sums.h"

#include "codegen/cpu/emit_llvm.h"
#include "runtime/plan/plan.h"

namespace smelt {

using V = llvm::Value*;

namespace {

constexpr int kSumWidth = 16;

}  // namespace

void PartialSums::begin() {
  for (size_t param = 0; param < c_.kernel.params.size(); ++param) {
    if (!c_.kernel.params[param].partial) continue;
    const Slice& slice = slices_.emplace_back(slice_of(param));
    c_.frame.bases[param] = slice.sums;
    for_each(slice, [&](const Slice& of, V at, int width) { zero(of, at, width); });
  }
}

PartialSums::Slice PartialSums::slice_of(size_t param) {
  V chunk = c_.frame.load_argument(offsetof(KernelArgs, chunk), b.getInt64Ty());
  V number = b.CreateSDiv(c_.frame.begin, chunk);
  V elements = c_.dim(c_.kernel.params[param].partial_elements), base = c_.frame.bases[param];
  Slice slice = {elements, b.CreateGEP(b.getFloatTy(), base, b.CreateMul(number, elements))};
  if (c_.schedule.sum_rows == 0) return slice;
  V behind = b.CreateGEP(b.getFloatTy(), base, b.CreateMul(b.getInt64(c_.schedule.splits), elements));
  slice.wide = b.CreateGEP(b.getDoubleTy(), behind, b.CreateMul(number, elements));
  return slice;
}

void PartialSums::zero(const Slice& slice, V at, int width) {
  V none = llvm::Constant::getNullValue(lanes_of(b.getFloatTy(), width));
  b.CreateAlignedStore(none, sums_at(slice, at), alignment_of(DType::f32));
  if (slice.wide != nullptr) zero_wide_sums(b, wide_at(slice, at, width));
}

/// Visits whole vectors, then one element at a time.
void PartialSums::for_each(const Slice& slice, llvm::function_ref<Change> change) {
  V whole = b.CreateAnd(slice.elements, b.getInt64(-kSumWidth));
  emit_loop(b, b.getInt64(0), whole, kSumWidth, [&](V at) { change(slice, at, kSumWidth); });
  emit_loop(b, whole, slice.elements, 1, [&](V at) { change(slice, at, 1); });
}

void PartialSums::finish_row(V item) {
  if (slices_.empty() || c_.schedule.sum_rows == 0) return;
  V rows = b.CreateAdd(b.CreateSub(item, c_.frame.begin), b.getInt64(1));
  V rest = b.CreateURem(rows, b.getInt64(c_.schedule.sum_rows));
  emit_if(b, b.CreateICmpEQ(rest, b.getInt64(0)), [&] {
    for (const Slice& slice : slices_)
      for_each(slice, [&](const Slice& of, V at, int width) { add_to_wide_sums(b, wide_at(of, at, width)); });
  });
}

void PartialSums::finish() {
  if (c_.schedule.sum_rows == 0) return;
  for (const Slice& slice : slices_)
    for_each(slice, [&](const Slice& of, V at, int width) { round_wide_sums(b, wide_at(of, at, width)); });
}

}  // namespace smelt
