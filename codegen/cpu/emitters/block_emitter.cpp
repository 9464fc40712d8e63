#include "codegen/cpu/emitters/block_emitter.h"

#include "codegen/cpu/emit_llvm.h"

namespace smelt {

using V = llvm::Value*;

void BlockEmitter::emit(const KernelBlock& block) {
  const BlockNest nest = c_.shape.nest_of(block);
  c_.place.lanes = {};
  if (block.scope == KernelBlock::Scope::row) {
    for (int id : block.instructions) instructions_.emit(nest, id);
    return;
  }
  reductions_.begin(nest);
  emit_loops(nest, 0);
  c_.place.lanes = {};
  reductions_.finish(nest);
}

/// Emits the loops from `depth` inwards, with the instructions before them.
void BlockEmitter::emit_loops(const BlockNest& nest, int depth) {
  c_.place.lanes = {};
  instructions_.emit_depth(nest, depth);
  if (depth == static_cast<int>(nest.outer.size())) {
    emit_innermost(nest);
    return reductions_.finish_run(nest);
  }
  const int axis = nest.outer[depth];
  const KernelAxis& extent = c_.kernel.axes[axis];
  V begin = extent.begin < 0 ? b.getInt64(0) : values_.index_of(extent.begin);
  V end = extent.end < 0 ? c_.dim(extent.extent) : values_.index_of(extent.end);
  emit_loop(b, begin, end, 1, [&](V i) {
    c_.place.indices[axis] = i;
    emit_loops(nest, depth + 1);
  });
}

void BlockEmitter::emit_innermost(const BlockNest& nest) {
  c_.place.lanes = {.inner = c_.shape.inner < 0};
  if (c_.shape.inner < 0) return emit_body(nest);
  addresses_.prepare(nest);
  V begin = c_.place.row_begin, end = c_.place.row_end;
  if (!reductions_.has_tiled(nest) && !random_.has_tile_draws(nest)) return emit_vectors(nest, begin, end);
  if (c_.has_one_tile()) return emit_tile(nest, begin, end);
  emit_loop(b, begin, end, c_.tile, [&](V first) {
    emit_tile(nest, first, c_.smaller(b.CreateAdd(first, b.getInt64(c_.tile)), end));
  });
}

void BlockEmitter::emit_tile(const BlockNest& nest, V first, V limit) {
  c_.place.lanes = {};
  c_.place.tile_first = b.CreateAnd(first, b.getInt64(-8));  // a Philox call makes eight columns
  random_.draw_tile(nest, limit);
  reductions_.begin_tile();
  emit_vectors(nest, first, limit);
  reductions_.finish_tile(nest, first, limit);
}

/// Emits whole vectors, then one vector with only the remaining lanes active.
void BlockEmitter::emit_vectors(const BlockNest& nest, V first, V limit) {
  const bool whole_vectors = c_.has_whole_vectors();
  V count = b.CreateSub(limit, first);
  V whole = whole_vectors ? limit : b.CreateAdd(first, b.CreateAnd(count, b.getInt64(-c_.width)));
  emit_loop(b, first, whole, c_.width, [&](V at) { emit_vector(nest, at, nullptr); });
  if (whole_vectors || c_.width == 1) return;
  emit_if(b, b.CreateICmpSLT(whole, limit), [&] {
    V rest = b.CreateTrunc(b.CreateSub(limit, whole), b.getInt32Ty());
    V lanes = lane_numbers(b.getInt32Ty(), c_.width);
    emit_vector(nest, whole, b.CreateICmpSLT(lanes, b.CreateVectorSplat(c_.width, rest)));
  });
}

void BlockEmitter::emit_vector(const BlockNest& nest, V first, V mask) {
  c_.place.lanes = {true, c_.width, first, mask};
  c_.place.indices[c_.shape.inner] = first;
  emit_body(nest);
  c_.place.lanes = {};
}

void BlockEmitter::emit_body(const BlockNest& nest) {
  values_.forget_loaded_columns();
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id)) instructions_.emit(nest, id);
}

}  // namespace smelt
