#include "codegen/kernel_passes/kernel_shape.h"

#include <algorithm>

namespace smelt {
namespace {

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

uint64_t axis_bit(int axis) { return axis < 0 ? 0 : uint64_t{1} << axis; }

uint64_t moving_axes(const std::vector<Dim>& strides) {
  uint64_t axes = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    if (!strides[axis].is_zero()) axes |= axis_bit(static_cast<int>(axis));
  return axes;
}

}  // namespace

KernelShape::KernelShape(const Kernel& kernel)
    : kernel_(kernel), axes_(kernel.instructions.size()), block_of_(kernel.instructions.size(), -1) {
  for (int axis = 0; axis < static_cast<int>(kernel.axes.size()); ++axis) {
    const AxisKind kind = kernel.axes[axis].kind;
    (kind == AxisKind::parallel ? parallel : kind == AxisKind::column ? columns : reduced).push_back(axis);
  }
  if (!columns.empty()) inner = columns.back();
  for (size_t i = 0; i < kernel.blocks.size(); ++i)
    for (int id : kernel.blocks[i].instructions) {
      find_axes(kernel.blocks[i], id);
      block_of_[id] = static_cast<int>(i);
    }
}

/// Row results of a column block move along nothing; accumulators of a reduced block along the columns.
void KernelShape::find_axes(const KernelBlock& block, int id) {
  const Instruction& x = kernel_.instructions[id];
  const auto axes_of = [&](int value) { return value < 0 ? 0 : axes_[value]; };
  uint64_t axes = axes_of(x.predicate);
  for (int operand : x.operands) axes |= axes_of(operand);
  if (x.kind == Kind::index) axes |= axis_bit(x.axis);
  if (x.kind == Kind::random) axes |= moving_axes(x.random_strides) | axis_bit(x.random_axis);
  if (x.access.param >= 0) axes |= moving_axes(x.access.strides) | axes_of(x.access.computed);
  if (x.kind == Kind::handed && kernel_.gemm) axes = (uint64_t{1} << kernel_.axes.size()) - 1;
  if (x.kind == Kind::result) axes = axes_of(x.operands[0]);
  if (x.kind == Kind::reduce) axes = block.scope == Scope::reduced ? axis_bit(inner) : 0;
  if (block.scope == Scope::row)
    for (int axis : columns) axes &= ~axis_bit(axis);
  axes_[id] = axes;
}

BlockNest KernelShape::nest_of(const KernelBlock& block) const {
  BlockNest nest;
  nest.block = &block;
  if (block.scope == Scope::reduced)
    nest.outer = reduced;
  else if (block.scope == Scope::column && !is_reduced() && columns.size() > 1)
    nest.outer.assign(columns.begin(), columns.end() - 1);
  nest.inner = static_cast<int>(nest.outer.size()) + 1;
  for (int id : block.instructions) {
    const Kind kind = kernel_.instructions[id].kind;
    const bool takes_all = kind == Kind::reduce || kind == Kind::accumulate;
    int depth = moves(id, inner) || (takes_all && block.scope != Scope::row) ? nest.inner : 0;
    for (size_t i = 0; depth < nest.inner && i < nest.outer.size(); ++i)
      if (moves(id, nest.outer[i])) depth = static_cast<int>(i) + 1;
    nest.depth[id] = depth;
  }
  return nest;
}

bool KernelShape::is_vector_access(int id) const {
  const Instruction& x = kernel_.instructions[id];
  if ((x.kind != Kind::load && x.kind != Kind::store) || inner < 0) return false;
  if (x.predicate >= 0 && (x.kind == Kind::load || moves(x.predicate, inner))) return false;
  if (x.access.computed >= 0 && moves(x.access.computed, inner)) return false;
  return inner < static_cast<int>(x.access.strides.size()) && x.access.strides[inner].is_one();
}

bool KernelShape::is_vector_load(int id) const {
  const Schedule& s = kernel_.schedule;
  return kernel_.instructions[id].kind == Kind::load && (s.vector_width > 1 || s.unroll > 1) &&
         moves(id, inner) && is_vector_access(id);
}

bool KernelShape::has_whole_vectors() const {
  if (kernel_.schedule.vector_width == 1) return true;
  const auto extent = kernel_.axes[inner].extent.constant();
  return extent && *extent % kernel_.schedule.vector_width == 0;
}

bool KernelShape::is_vector_random(int id) const {
  const Instruction& x = kernel_.instructions[id];
  if (x.kind != Kind::random || inner < 0 || x.random_axis != inner) return false;
  constexpr int64_t kDrawnTogether = 8;  // columns, from a multiple of it on
  if (!x.random_begin.divide(kDrawnTogether)) return false;
  return inner >= static_cast<int>(x.random_strides.size()) || x.random_strides[inner].is_zero();
}

Accumulation KernelShape::accumulation(int id) const {
  const Instruction& x = kernel_.instructions[id];
  const uint64_t axes = moving_axes(x.access.strides);
  if (x.access.computed >= 0) return Accumulation::memory;
  if (axes == 0) return Accumulation::scalar;
  const bool in_columns = kernel_.blocks[block_of_[id]].scope == Scope::column;
  return in_columns && columns.size() == 1 && !kernel_.schedule.flat && axes == axis_bit(inner)
             ? Accumulation::column
             : Accumulation::memory;
}

std::vector<int> KernelShape::all_of(Kind kind) const {
  std::vector<int> ids;
  for (int id = 0; id < static_cast<int>(kernel_.instructions.size()); ++id)
    if (kernel_.instructions[id].kind == kind && block_of_[id] >= 0) ids.push_back(id);
  return ids;
}

}  // namespace smelt
