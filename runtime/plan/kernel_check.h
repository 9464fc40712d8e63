// Checks that steps give kernels the arguments that their code expects (KernelCode::parameters), apart from
// the contents of the memory.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Elements [first, end), relative to the element that an argument points to.
struct ElementSpan {
  int64_t first = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();
  bool is_empty() const { return first >= end; }
};

/// One access with its numbers evaluated: elements begin + sum_i strides[i] * [0, extents[i]), the last axis
/// innermost. Axes of extent 1 are left out. An `empty` access touches no element.
struct AccessBox {
  struct Axis {
    int64_t extent, stride;
  };
  int64_t begin = 0;
  std::vector<Axis> axes = {};
  bool empty = false;
};
/// Throws Error if a number overflows 64 bits.
AccessBox box_of(const KernelAccess& access, const std::vector<int64_t>& extents, const SymbolValues& values);
ElementSpan span_of(const AccessBox& box);
/// Returns the span of all accesses and of the table; `extents` are the values of KernelCode::axes.
ElementSpan span_of(const KernelParameter& parameter, const std::vector<int64_t>& extents,
                    const SymbolValues& values);

/// Checks the description of a kernel, independently of the steps that launch it. Throws Error
/// (invalid_file).
void check_parameters(const KernelCode& kernel);

/// Checks that a step gives the arguments that its kernel takes, in number and types, lists all buffers that
/// the kernel reads and writes, and overwrites no integers that the kernel relies on. Throws Error
/// (invalid_file) with `place`.
void check_launch(const Plan& plan, const Step& step, const KernelStep& launch, const std::string& place);

}  // namespace smelt
