#include "codegen/gpu/lower/lowering_context.h"

#include "runtime/base/error.h"

namespace smelt::gpu {

LoweringContext::LoweringContext(const Kernel& kernel, Expr block)
    : kernel(kernel),
      schedule(kernel.schedule),
      shape(kernel),
      names(kernel),
      block(std::move(block)),
      width(schedule.vector_width),
      lanes(schedule.team),
      teams(schedule.team < 1 ? 0 : schedule.threads / schedule.team),
      vectors(schedule.vectors),
      unroll(std::max(1, schedule.unroll)),
      values_(kernel.instructions.size()) {
  if (schedule.threads < 1 || lanes < 1 || schedule.threads % lanes != 0)
    fail_with(Status::internal, "kernel {}: it has no schedule for a GPU", kernel.name);
  place.indices.assign(kernel.axes.size(), 0);
}

// ---- the kernel

bool LoweringContext::is_cached(int id) const {
  return std::find(schedule.cached.begin(), schedule.cached.end(), id) != schedule.cached.end();
}

void LoweringContext::reject(int id, const char* what) const {
  fail_with(Status::internal, "kernel {}: instruction %{}: {}", kernel.name, id, what);
}

// ---- values

void LoweringContext::define(int id, const Expr& value) {
  values_[id] = out.declare(value.type(), fmt::format("v{}", id), value);
}

const Expr& LoweringContext::value_of(int id) const {
  if (values_[id]) return values_[id];
  reject(id, "is used before it has a value");
}

Expr LoweringContext::index_value(int id) const {
  const Expr& value = value_of(id);
  return cast(value.scalar() == Scalar::int64 ? value : converted(value, Scalar::int32), Scalar::index);
}

Expr LoweringContext::predicate_of(int id) const {
  const int predicate = instruction(id).predicate;
  return predicate < 0 ? Expr() : value_as(predicate, Scalar::flag);
}

// ---- sizes and indices

Expr LoweringContext::index_sum(const Dim& offset, const std::vector<Dim>& strides, int skipped) const {
  std::vector<KernelNames::Term> terms;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    if (static_cast<int>(axis) != skipped) terms.emplace_back(place.indices[axis], strides[axis]);
  return names.sum(offset, terms);
}

void LoweringContext::declare_indices(const Expr& item, const std::vector<int>& axes) {
  std::vector<int> wide;
  for (int axis : axes)
    if (!kernel.axes[axis].extent.is_one()) wide.push_back(axis);
  Expr rest = item;
  for (size_t i = wide.size(); i-- > 0;) {
    const int axis = wide[i];
    const Expr index = i == 0 ? rest : rest % extent(axis);
    place.indices[axis] = out.declare(Scalar::index, fmt::format("r{}", axis), index);
    if (i > 0) rest = out.declare(Scalar::index, fmt::format("rest{}", axis), rest / extent(axis));
  }
}

Expr LoweringContext::columns_end() const {
  if (schedule.flat) return variable("end", Scalar::index);
  return shape.inner < 0 ? Expr(1) : extent(shape.inner);
}

Expr LoweringContext::columns_left() const {
  return shape.has_whole_vectors() ? Expr(width) : columns_end() - column();
}

Expr LoweringContext::column_exists() const {
  return covers_rows_exactly() ? Expr() : column() < columns_end();
}

bool LoweringContext::covers_rows_exactly() const {
  if (schedule.flat || vectors == 0 || shape.inner < 0) return false;
  return kernel.axes[shape.inner].extent.constant() == vectors * lanes * width;
}

// ---- threads

void LoweringContext::team_barrier() {
  if (lanes <= 32)
    out.append(Barrier{.of = Barrier::Of::warp, .mask = variable("mask", Scalar::bits)});
  else if (teams == 1)
    out.barrier();
  else
    out.append(Barrier{.of = Barrier::Of::group, .group = team() + 1, .threads = lanes});
}

bool LoweringContext::alternates_buffers() const {
  return !shape.is_reduced() && !schedule.flat && schedule.splits > 0 && lanes > 32;
}

}  // namespace smelt::gpu
