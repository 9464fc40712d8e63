// Loop nests of blocks.
#include "codegen/llvm/kernel_emitter.h"
#include "codegen/llvm/loops.h"
#include "runtime/error.h"

namespace smelt {

void KernelEmitter::emit_block(const KernelBlock& block) {
  const Nest nest = shape_.nest_of(block);
  lanes_ = {};
  if (block.scope == KernelBlock::Scope::row) {
    for (int id : block.instructions) emit_instruction(nest, id);
    return;
  }
  begin_reductions(nest);
  emit_nest(nest, 0);
  lanes_ = {};
  finish_reductions(nest);
}

void KernelEmitter::emit_nest(const Nest& nest, size_t depth) {
  lanes_ = {};
  for (int id : nest.block->instructions)
    if (nest.depth.lookup(id) == static_cast<int>(depth)) emit_instruction(nest, id);
  if (depth == nest.outer.size()) return emit_innermost(nest);
  const int axis = nest.outer[depth];
  const KernelAxis& extent = kernel_.axes[axis];
  const auto bound = [&](int row_scalar) {
    return b.CreateSExt(math_.coerce(value_of(row_scalar), ComputeKind::integer), b.getInt64Ty());
  };
  V begin = extent.begin < 0 ? b.getInt64(0) : bound(extent.begin);
  V end = extent.end < 0 ? dim(extent.extent) : bound(extent.end);
  emit_loop(b, begin, end, 1, [&](V i) {
    axis_values_[axis] = i;
    emit_nest(nest, depth + 1);
  });
}

/// Tiles are cut only for what works on a tile at a time.
void KernelEmitter::emit_innermost(const Nest& nest) {
  if (shape_.inner < 0) {
    lanes_ = {.inner = true};
    return emit_body(nest);
  }
  lanes_ = {};
  prepare_accesses(nest);
  bool tiles = has_tiled_reduction(nest);
  for (int id : nest.block->instructions) tiles |= fills_tile(nest, id);
  if (!tiles) return vector_loop(row_begin_, row_end_, whole_tiles(), [&] { emit_body(nest); });
  if (one_tile()) return emit_tile(nest, row_begin_, row_end_);
  emit_loop(b, row_begin_, row_end_, tile_, [&](V first) {
    V limit = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, b.getInt64(tile_)), row_end_);
    emit_tile(nest, first, limit);
  });
}

/// What is worked on at a time is no longer than a tile.
bool KernelEmitter::one_tile() const {
  const std::optional<int64_t> extent = kernel_.axes[shape_.inner].extent.constant();
  return shape_.is_reduced() || (!kernel_.schedule.flat && extent && *extent <= tile_);
}

void KernelEmitter::emit_tile(const Nest& nest, V first, V limit) {
  lanes_ = {};
  fill_random(nest, first, limit);
  begin_tile();
  vector_loop(first, limit, whole_tiles(), [&] { emit_body(nest); });
  lanes_ = {};
  finish_tile(nest, first, limit);
}

void KernelEmitter::emit_body(const Nest& nest) {
  for (const auto& [id, stored] : stored_) values_[id] = nullptr;
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id)) emit_instruction(nest, id);
}

/// Whole vectors, then one with only the rest of the lanes on.
void KernelEmitter::vector_loop(V first, V limit, bool whole_vectors, llvm::function_ref<void()> body) {
  V count = b.CreateSub(limit, first);
  V whole = whole_vectors ? limit : b.CreateAdd(first, b.CreateAnd(count, b.getInt64(-width_)));
  emit_loop(b, first, whole, width_, [&](V at) { emit_vector(at, nullptr, body); });
  if (whole_vectors || width_ == 1) return;
  emit_if(b, b.CreateICmpSLT(whole, limit), [&] {
    V rest = b.CreateTrunc(b.CreateSub(limit, whole), b.getInt32Ty());
    V mask = b.CreateICmpSLT(lane_numbers(b.getInt32Ty(), width_), b.CreateVectorSplat(width_, rest));
    emit_vector(whole, mask, body);
  });
}

void KernelEmitter::emit_vector(V first, V mask, llvm::function_ref<void()> body) {
  lanes_ = {true, width_, first, mask};
  axis_values_[shape_.inner] = first;
  body();
  lanes_ = {};
}

KernelEmitter::V KernelEmitter::lane_numbers(llvm::Type* element, int width) {
  if (width == 1) return llvm::ConstantInt::get(element, 0);
  llvm::SmallVector<llvm::Constant*, 64> lanes;
  for (int i = 0; i < width; ++i) lanes.push_back(llvm::ConstantInt::get(element, i));
  return llvm::ConstantVector::get(lanes);
}

/// i32, one a lane along the inner axis.
KernelEmitter::V KernelEmitter::axis_index(int axis) {
  V index = b.CreateTrunc(axis_values_[axis], b.getInt32Ty());
  if (axis != shape_.inner || lanes_.width == 1) return index;
  return b.CreateAdd(b.CreateVectorSplat(lanes_.width, index), lane_numbers(b.getInt32Ty(), lanes_.width));
}

/// The place among the axes' elements in row-major order, i64, of lane 0; segments count from their begin.
KernelEmitter::V KernelEmitter::flat_index(llvm::ArrayRef<int> axes) {
  V index = b.getInt64(0);
  for (int axis : axes) {
    const KernelAxis& extent = kernel_.axes[axis];
    V along = axis_values_[axis];
    if (extent.begin >= 0) along = b.CreateSub(along, b.CreateSExt(value_of(extent.begin), b.getInt64Ty()));
    index = b.CreateAdd(b.CreateMul(index, dim(extent.extent)), along);
  }
  return index;
}

}  // namespace smelt
