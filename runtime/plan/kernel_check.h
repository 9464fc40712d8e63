// That steps give kernels what their code expects (KernelCode::parameters), but for what lies in the memory.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Elements [first, end) from where an argument points to.
struct ElementSpan {
  int64_t first = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();
  bool is_empty() const { return first >= end; }
};

/// One access with its numbers worked out: elements begin + sum_i strides[i] * [0, extents[i]), the last axis
/// innermost; axes of one index are left out. Nothing is touched where `empty`.
struct AccessBox {
  struct Axis {
    int64_t extent, stride;
  };
  int64_t begin = 0;
  std::vector<Axis> axes = {};
  bool empty = false;
};
/// Throws Error where a number overflows 64 bits.
AccessBox box_of(const KernelAccess& access, const std::vector<int64_t>& extents, const SymbolValues& values);
ElementSpan span_of(const AccessBox& box);
/// Of all accesses and the table; `extents` are the values of KernelCode::axes.
ElementSpan span_of(const KernelParameter& parameter, const std::vector<int64_t>& extents,
                    const SymbolValues& values);

/// What a kernel says of itself, whoever launches it. Throws Error (invalid_file).
void check_parameters(const KernelCode& kernel);

/// That a step gives as many arguments of these types as its kernel takes, lists as read and written what
/// that reads and writes, and overwrites no integers that it relies on. Throws Error (invalid_file) with
/// `place`.
void check_launch(const Plan& plan, const Step& step, const KernelStep& launch, const std::string& place);

}  // namespace smelt
