#include "codegen/cpu/emitters/kernel_context.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int kWidest = 64;

/// Returns the vector width, which does not depend on the processor, so that sums are the same on every
/// machine.
int vector_width(const Kernel& kernel, const KernelShape& shape) {
  if (shape.inner < 0) return 1;
  const int64_t extent = kernel.axes[shape.inner].extent.constant().value_or(kWidest);
  const auto limit = static_cast<uint64_t>(std::clamp<int64_t>(extent, 1, kWidest));
  const auto wanted = static_cast<uint64_t>(std::clamp(kernel.schedule.vector_width, 1, kWidest));
  return static_cast<int>(std::min(std::bit_ceil(limit), std::bit_floor(wanted)));
}

/// Row kernels: a row is all columns. Reduced kernels: outer column axes are part of the range.
std::vector<int> axes_of_range(const Kernel& kernel, const KernelShape& shape) {
  std::vector<int> axes = shape.parallel;
  if (shape.is_reduced() && shape.columns.size() > 1)
    axes.insert(axes.end(), shape.columns.begin(), shape.columns.end() - 1);
  std::erase_if(axes, [&](int axis) { return kernel.axes[axis].extent.is_one(); });
  return axes;
}

llvm::FastMathFlags contraction() {
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  return flags;
}

}  // namespace

KernelContext::KernelContext(const Kernel& k, const std::string& name, llvm::Module& module,
                             const TargetTraits& traits)
    : kernel(k),
      schedule(k.schedule),
      shape(k),
      range_axes(axes_of_range(k, shape)),
      width(vector_width(k, shape)),
      tile(std::max<int64_t>(schedule.tile, width)),
      b(module.getContext()),
      math(b, traits.rounds),
      memory(b, math, traits.halves),
      frame(k, name, module, b) {
  b.setFastMathFlags(contraction());
  place.indices.assign(k.axes.size(), b.getInt64(0));
}

void KernelContext::reject(int id, const char* what) const {
  fail_with(Status::internal, "kernel {}: instruction %{}: {}", kernel.name, id, what);
}

bool KernelContext::has_one_tile() const {
  const std::optional<int64_t> extent = kernel.axes[shape.inner].extent.constant();
  return shape.is_reduced() || (!schedule.flat && extent && *extent <= tile);
}

bool KernelContext::has_whole_vectors() const {
  const std::optional<int64_t> extent = kernel.axes[shape.inner].extent.constant();
  return !schedule.flat && extent && *extent % width == 0 && tile % width == 0;
}

int64_t KernelContext::row_elements() const {
  if (schedule.flat)
    fail_with(Status::internal, "kernel {}: a flat kernel has no rows to cache values of", kernel.name);
  Dim columns = 1;
  for (int axis : shape.columns) columns *= kernel.axes[axis].extent;
  const std::optional<int64_t> known = columns.constant();
  const int64_t elements = known.value_or(schedule.cached_elements);
  if (elements <= 0 && known != 0)
    fail_with(Status::internal, "kernel {}: no bound for the rows of cached values", kernel.name);
  return elements;
}

KernelContext::V KernelContext::axis_index(int axis) {
  const int lanes = place.lanes.width;
  V index = b.CreateTrunc(place.indices[axis], b.getInt32Ty());
  if (axis != shape.inner || lanes == 1) return index;
  return b.CreateAdd(b.CreateVectorSplat(lanes, index), lane_numbers(b.getInt32Ty(), lanes));
}

llvm::Value* lane_numbers(llvm::Type* element, int width) {
  if (width == 1) return llvm::ConstantInt::get(element, 0);
  llvm::SmallVector<llvm::Constant*, 64> lanes;
  for (int i = 0; i < width; ++i) lanes.push_back(llvm::ConstantInt::get(element, i));
  return llvm::ConstantVector::get(lanes);
}

}  // namespace smelt
