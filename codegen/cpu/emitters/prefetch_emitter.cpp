#include "codegen/cpu/emitters/prefetch_emitter.h"

namespace smelt {

using V = llvm::Value*;
using Kind = Instruction::Kind;

namespace {

/// A vector of them is a cache line.
constexpr int kLineElements = 16;

}  // namespace

void PrefetchEmitter::find(const BlockNest& nest) {
  prefetches_.clear();
  if (c_.width < kLineElements) return;
  for (int id : nest.block->instructions) {
    const Instruction& x = c_.instruction(id);
    if (x.kind != Kind::load || !runs_along_columns(x.access)) continue;
    llvm::Type* type = c_.element_type(x);
    V next = b.CreateGEP(type, addresses_.row_pointer(x), distance(x.access));
    prefetches_.push_back({next, type, false});
  }
  for (const Instruction& x : c_.kernel.instructions)
    if (x.kind == Kind::store && runs_along_columns(x.access))
      prefetches_.push_back({addresses_.row_pointer(x), c_.element_type(x), true});
}

bool PrefetchEmitter::runs_along_columns(const Access& access) const {
  return access.computed < 0 && c_.shape.inner < static_cast<int>(access.strides.size()) &&
         access.strides[c_.shape.inner].is_one();
}

/// Returns the distance, in elements, from the current elements to those that are read next.
V PrefetchEmitter::distance(const Access& access) {
  V tile = b.getInt64(c_.tile);
  if (c_.range_axes.empty() || c_.schedule.flat) return tile;
  V row = c_.dim(access.strides[c_.range_axes.back()]);
  return b.CreateSelect(b.CreateICmpSLE(c_.row_length(), tile), row, tile);
}

/// A hint: it may reach beyond the memory, which no prefetch minds.
void PrefetchEmitter::emit(V column) {
  for (const Prefetch& prefetch : prefetches_)
    b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                      {b.CreateGEP(prefetch.type, prefetch.pointer, column),
                       b.getInt32(prefetch.write ? 1 : 0), b.getInt32(3), b.getInt32(1)});
}

}  // namespace smelt
