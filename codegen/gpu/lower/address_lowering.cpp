#include "codegen/gpu/lower/address_lowering.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt::gpu {
namespace {

constexpr int kWarpLanes = 32;
constexpr int64_t kShiftedBytes = 16;  // of an access that stores elements of two lanes

}  // namespace

void AddressLowering::declare_starts(const BlockNest& nest) {
  starts_.clear(), start_variables_.clear();
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id) && c_.instruction(id).access.param >= 0) starts_[id] = start_of_lanes(id);
}

/// An index that all accesses with the same strides share takes one register and not two for each of them.
Expr AddressLowering::start_of_lanes(int id) {
  const Accumulation how = c_.shape.accumulation(id);
  const bool sum_in_register =
      c_.instruction(id).kind == Instruction::Kind::accumulate &&
      (how == Accumulation::scalar || (how == Accumulation::column && c_.vectors > 0));
  if (sum_in_register) return {};
  const Expr start = index(id, false);
  if (start.is_zero()) return {};
  for (const auto& [known, variable] : start_variables_)
    if (same_tree(known, start)) return variable;
  start_variables_.emplace_back(start, c_.out.declare(Scalar::index, fmt::format("at{}", id), start));
  return start_variables_.back().second;
}

/// Returns the index at the current indices; without the terms of the inner axis it is the start of all
/// lanes.
Expr AddressLowering::index(int id, bool with_inner) const {
  const Access& access = c_.instruction(id).access;
  Expr sum = c_.index_sum(access.offset, access.strides, with_inner ? -1 : c_.shape.inner);
  const bool computed =
      access.computed >= 0 && (with_inner || !c_.shape.moves(access.computed, c_.shape.inner));
  if (!computed) return sum;
  return c_.names.sum(0, {{sum, 1}, {c_.index_value(access.computed), access.computed_stride}});
}

Expr AddressLowering::slice(int param) const {
  return c_.names.param(param) +
         cast(block_number(), Scalar::int64) * c_.dim(c_.kernel.params[param].partial_elements);
}

Expr AddressLowering::array(int id) const {
  const int number = c_.instruction(id).access.param;
  return c_.kernel.params[number].partial ? slice(number) : c_.names.param(number);
}

Expr AddressLowering::vector(int id) const {
  const Expr& start = starts_.at(id);
  return array(id) + (start ? start + c_.column() : c_.column());
}

Expr AddressLowering::vector_without_start(int id) const {
  return array(id) + (index(id, false) + c_.column());
}

Expr AddressLowering::element(int id) const {
  if (!c_.place.in_lanes) return gpu::element(array(id), index(id, true));
  const Access& access = c_.instruction(id).access;
  const int inner = c_.shape.inner;
  std::vector<KernelNames::Term> terms;
  if (starts_.at(id)) terms.emplace_back(starts_.at(id), 1);
  if (inner >= 0 && inner < static_cast<int>(access.strides.size()))
    terms.emplace_back(c_.place.indices[inner], access.strides[inner]);
  if (access.computed >= 0 && c_.shape.moves(access.computed, inner))
    terms.emplace_back(c_.index_value(access.computed), access.computed_stride);
  return gpu::element(array(id), c_.names.sum(0, terms));
}

// ---- alignment

/// Notes what by_sizes depends on.
VectorAccess::Aligned AddressLowering::alignment(int id) {
  const VectorAlignment alignment = vector_alignment(c_.kernel, c_.shape, id);
  for (const VectorAlignment::Condition& condition : alignment.conditions) {
    const Expr test = c_.names.launched_dim(condition.size) % condition.elements == 0;
    if (llvm::none_of(alignment_conditions_, [&](const Expr& other) { return same_tree(other, test); }))
      alignment_conditions_.push_back(test);
  }
  constexpr VectorAccess::Aligned kAligned[] = {VectorAccess::Aligned::never, VectorAccess::Aligned::always,
                                                VectorAccess::Aligned::by_sizes};
  return kAligned[static_cast<size_t>(alignment.when)];
}

/// Returns whether whole warps work on a row, whose lanes have adjacent vectors of 16 bytes or a multiple of
/// it.
bool AddressLowering::can_shift(int id) const {
  const int64_t bytes = c_.width * size_of(c_.param(id).dtype);
  return c_.schedule.shifted && c_.lanes % kWarpLanes == 0 && bytes % kShiftedBytes == 0;
}

VectorAccess AddressLowering::vector_access(int id, const Expr& address, const Expr& registers) {
  VectorAccess access{.store = c_.instruction(id).kind == Instruction::Kind::store,
                      .registers = registers,
                      .address = address,
                      .count = c_.columns_left(),
                      .aligned = alignment(id)};
  if (access.store && access.aligned == VectorAccess::Aligned::never && can_shift(id))
    access.aligned = VectorAccess::Aligned::shifted, access.lane = c_.lane();
  const auto extent = c_.kernel.axes[c_.shape.inner].extent.constant();
  const bool whole_lines =
      access.aligned == VectorAccess::Aligned::always || access.aligned == VectorAccess::Aligned::by_sizes;
  if (extent && whole_lines) access.last = *extent % c_.width;
  return access;
}

}  // namespace smelt::gpu
