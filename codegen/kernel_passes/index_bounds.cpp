#include "codegen/kernel_passes/kernel_indices.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int64_t kUnbounded = int64_t{1} << 40;
constexpr int64_t kLargestIndex = std::numeric_limits<int32_t>::max() / 2;

bool has_small_indices(const Kernel& kernel, const Access& access, const Symbols& symbols) {
  if (access.param < 0) return true;
  int64_t last = bound_or_large(access.offset, symbols);
  for (size_t axis = 0; axis < access.strides.size(); ++axis) {
    const int64_t extent = bound_or_large(kernel.axes[axis].extent, symbols);
    const int64_t stride = bound_or_large(access.strides[axis], symbols);
    if (extent > kLargestIndex || stride > kLargestIndex) return false;
    last += extent * stride;
  }
  if (last >= kLargestIndex) return false;
  if (access.computed < 0) return true;
  const Dim& table = kernel.params[static_cast<size_t>(access.param)].table_elements;
  return !table.is_zero() && bound_or_large(table, symbols) < kLargestIndex;
}

std::optional<int64_t> lower_bound(const Dim& dim, const Symbols& symbols);

std::optional<int64_t> lower_bound(const Atom& atom, const Symbols& symbols) {
  if (!atom.inner) return symbols.lower(atom.name);
  const std::optional<int64_t> inner = lower_bound(*atom.inner, symbols);
  if (!inner || *inner < 0) return std::nullopt;
  return (*inner + atom.divisor - 1) / atom.divisor;
}

/// A number that the sum of terms is never below; nothing where sizes are subtracted or may be negative.
std::optional<int64_t> lower_bound(const Dim& dim, const Symbols& symbols) {
  int64_t sum = 0;
  for (const Dim::Term& term : dim.terms()) {
    int64_t product = term.coefficient;
    for (const Atom& atom : term.atoms) {
      const std::optional<int64_t> least = lower_bound(atom, symbols);
      if (!least || *least < 0 || term.coefficient < 0) return std::nullopt;
      product *= *least;
    }
    sum += product;
  }
  return sum;
}

}  // namespace

int64_t bound_or_large(const Dim& dim, const Symbols& symbols) {
  try {
    return std::max<int64_t>(0, symbols.upper(dim));
  } catch (const Error&) {
    return kUnbounded;
  }
}

bool is_at_least_one(const Dim& dim, const Symbols& symbols) {
  const std::optional<int64_t> least = lower_bound(dim, symbols);
  return least && *least >= 1;
}

bool has_32_bit_indices(const Kernel& kernel, const Symbols& symbols) {
  const auto fits = [&](const Dim& dim) { return bound_or_large(dim, symbols) < kLargestIndex; };
  Dim all = 1;
  for (const KernelAxis& axis : kernel.axes) all *= axis.extent;
  if (!fits(all) || !fits(kernel.range())) return false;
  for (const KernelParam& param : kernel.params)
    if (!fits(param.partial_elements)) return false;
  return has_32_bit_accesses(kernel, symbols);
}

bool has_32_bit_accesses(const Kernel& kernel, const Symbols& symbols) {
  return llvm::all_of(kernel.instructions,
                      [&](const Instruction& x) { return has_small_indices(kernel, x.access, symbols); });
}

}  // namespace smelt
