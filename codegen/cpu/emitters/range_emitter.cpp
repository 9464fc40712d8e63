#include "codegen/cpu/emitters/range_emitter.h"

#include "codegen/cpu/emit_llvm.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

namespace smelt {

using V = llvm::Value*;

/// Row values are the same in every chunk, and the first one stores them.
void RangeEmitter::emit_flat() {
  if (c_.shape.columns.size() != 1 || c_.shape.is_reduced())
    fail_with(Status::internal, "kernel {}: a flat kernel needs one column axis and no reduced ones",
              c_.kernel.name);
  V begin = c_.frame.begin, end = c_.frame.end;
  c_.place.row_begin = begin, c_.place.row_end = end;
  c_.place.may_store_row = b.CreateICmpEQ(begin, b.getInt64(0));
  emit_if(b, b.CreateICmpSLT(begin, end), [&] { emit_row(c_.frame.create_block("skipped")); });
}

void RangeEmitter::emit_items() {
  start_counters(c_.frame.begin);
  emit_loop(b, c_.frame.begin, c_.frame.end, 1, [&](V item) {
    llvm::BasicBlock* next = c_.frame.create_block("next");
    set_indices(item);
    emit_row(next);
    sums_.finish_row(item);
    advance_counters();
  });
}

/// Goes on at `next`, at once where the row's predicate does not hold.
void RangeEmitter::emit_row(llvm::BasicBlock* next) {
  for (const KernelBlock& block : c_.kernel.blocks) {
    blocks_.emit(block);
    if (&block != &c_.kernel.blocks.front() || c_.kernel.row_predicate < 0) continue;
    llvm::BasicBlock* taken = c_.frame.create_block("taken");
    b.CreateCondBr(values_.value_as(c_.kernel.row_predicate, ComputeKind::flag), taken, next);
    b.SetInsertPoint(taken);
  }
  b.CreateBr(next);
  b.SetInsertPoint(next);
}

// ---- counters: the first item's indices by division, the others by counting

V RangeEmitter::tile_count() {
  return b.CreateSDiv(b.CreateAdd(c_.inner_extent(), b.getInt64(c_.tile - 1)), b.getInt64(c_.tile));
}

void RangeEmitter::start_counters(V item) {
  if (c_.has_tiles_in_range()) {
    V count = tile_count();
    tile_counter_ = create_counter(b.CreateSRem(item, count));
    item = b.CreateSDiv(item, count);
  }
  counters_.assign(c_.range_axes.size(), nullptr);
  for (size_t i = counters_.size(); i-- > 0;) {
    V extent = c_.dim(c_.kernel.axes[c_.range_axes[i]].extent);
    counters_[i] = create_counter(i == 0 ? item : b.CreateSRem(item, extent));
    if (i > 0) item = b.CreateSDiv(item, extent);
  }
}

V RangeEmitter::create_counter(V first) {
  V counter = c_.frame.alloca_array(b.getInt64Ty(), 1);
  b.CreateStore(first, counter);
  return counter;
}

void RangeEmitter::advance_counters() {
  V carry = b.getInt64(1);
  if (tile_counter_ != nullptr) carry = advanced(tile_counter_, tile_count(), carry);
  for (size_t i = counters_.size(); i-- > 0;)
    carry = advanced(counters_[i], i == 0 ? nullptr : c_.dim(c_.kernel.axes[c_.range_axes[i]].extent), carry);
}

/// Adds the carry to a counter and returns the next one's; without an extent it counts on.
V RangeEmitter::advanced(V counter, V extent, V carry) {
  V raised = b.CreateAdd(b.CreateLoad(b.getInt64Ty(), counter), carry);
  V full = extent == nullptr ? b.getFalse() : b.CreateICmpEQ(raised, extent);
  b.CreateStore(b.CreateSelect(full, b.getInt64(0), raised), counter);
  return b.CreateZExt(full, b.getInt64Ty());
}

// ---- what holds in an item

void RangeEmitter::set_indices(V item) {
  const bool is_item = counters_.size() == 1 && tile_counter_ == nullptr;
  for (size_t i = 0; i < counters_.size(); ++i)
    c_.place.indices[c_.range_axes[i]] = is_item ? item : b.CreateLoad(b.getInt64Ty(), counters_[i]);
  c_.place.may_store_row = nullptr;
  if (c_.shape.inner < 0) return;
  c_.place.row_begin = b.getInt64(0), c_.place.row_end = c_.inner_extent();
  if (c_.kernel.attention) set_block();
  if (tile_counter_ != nullptr) set_tile();
}

/// Restricts the columns to a block of scores.
void RangeEmitter::set_block() {
  const auto column = [&](int offset) { return c_.frame.load_argument(offset, b.getInt64Ty()); };
  c_.place.row_begin = column(offsetof(KernelArgs, first_column));
  c_.place.row_end = column(offsetof(KernelArgs, end_column));
}

/// Row scalars are stored by the first tile of the first outer columns.
void RangeEmitter::set_tile() {
  KernelPlace& place = c_.place;
  V tile = b.CreateLoad(b.getInt64Ty(), tile_counter_);
  place.row_begin = b.CreateMul(tile, b.getInt64(c_.tile));
  place.row_end = c_.smaller(b.CreateAdd(place.row_begin, b.getInt64(c_.tile)), place.row_end);
  place.may_store_row = b.CreateICmpEQ(tile, b.getInt64(0));
  for (size_t i = 0; i + 1 < c_.shape.columns.size(); ++i) {
    V first = b.CreateICmpEQ(place.indices[c_.shape.columns[i]], b.getInt64(0));
    place.may_store_row = b.CreateAnd(place.may_store_row, first);
  }
}

}  // namespace smelt
