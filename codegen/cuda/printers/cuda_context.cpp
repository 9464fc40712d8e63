#include "codegen/cuda/printers/cuda_context.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt {

CudaContext::CudaContext(const Kernel& kernel, std::string block)
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
  place.indices.assign(kernel.axes.size(), "0");
}

// ---- the kernel

bool CudaContext::is_cached(int id) const {
  return std::find(schedule.cached.begin(), schedule.cached.end(), id) != schedule.cached.end();
}

void CudaContext::reject(int id, const char* what) const {
  fail_with(Status::internal, "kernel {}: instruction %{}: {}", kernel.name, id, what);
}

// ---- values

void CudaContext::define(int id, CudaKind kind, const std::string& text) {
  out.line("const {} v{} = {};", cuda_type(kind), id, text);
  values_[id] = CudaValue{fmt::format("v{}", id), kind};
}

const CudaValue& CudaContext::value_of(int id) const {
  if (values_[id]) return *values_[id];
  reject(id, "is used before it has a value");
}

std::string CudaContext::predicate_of(int id) const {
  const int predicate = instruction(id).predicate;
  return predicate < 0 ? "" : value_as(predicate, CudaKind::flag);
}

// ---- sizes and indices

std::string CudaContext::index_sum(const Dim& offset, const std::vector<Dim>& strides, int skipped) const {
  std::vector<CudaNames::Term> terms;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    if (static_cast<int>(axis) != skipped) terms.emplace_back(place.indices[axis], strides[axis]);
  return names.sum(offset, terms);
}

void CudaContext::declare_indices(const std::string& item, const std::vector<int>& axes) {
  std::vector<int> wide;
  for (int axis : axes)
    if (!kernel.axes[axis].extent.is_one()) wide.push_back(axis);
  std::string rest = item;
  for (size_t i = wide.size(); i-- > 0;) {
    const int axis = wide[i];
    place.indices[axis] = fmt::format("r{}", axis);
    if (i == 0) return out.line("const Index r{} = {};", axis, rest);
    out.line("const Index r{} = {} % {};", axis, rest, extent(axis));
    out.line("const Index rest{} = {} / {};", axis, rest, extent(axis));
    rest = fmt::format("rest{}", axis);
  }
}

std::string CudaContext::columns_end() const {
  if (schedule.flat) return "end";
  return shape.inner < 0 ? "1" : extent(shape.inner);
}

std::string CudaContext::columns_left() const {
  return shape.has_whole_vectors() ? std::to_string(width) : fmt::format("{} - c", columns_end());
}

void CudaContext::open_existing_columns() {
  if (!covers_rows_exactly()) out.open("if (c < {})", columns_end());
}

void CudaContext::close_existing_columns() {
  if (!covers_rows_exactly()) out.close();
}

bool CudaContext::covers_rows_exactly() const {
  if (schedule.flat || vectors == 0 || shape.inner < 0) return false;
  return kernel.axes[shape.inner].extent.constant() == vectors * lanes * width;
}

void CudaContext::team_barrier() {
  if (lanes <= 32)
    out.line("__syncwarp(mask);");
  else if (teams == 1)
    out.line("__syncthreads();");
  else
    out.line("sm_barrier(team + 1, {});", lanes);
}

bool CudaContext::alternates_buffers() const {
  return !shape.is_reduced() && !schedule.flat && schedule.splits > 0 && lanes > 32;
}

std::string conditions(std::vector<std::string> all) {
  std::erase(all, "");
  std::string text;
  for (const std::string& condition : all) text += (text.empty() ? "" : " && ") + condition;
  return text;
}

}  // namespace smelt
