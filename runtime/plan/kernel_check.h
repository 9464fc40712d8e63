// Checks that steps launch kernels with the arguments that their code expects (KernelCode::parameters). The
// contents of memory are not examined.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Range of elements [first, end), relative to the element that an argument points to. The default is empty.
struct ElementSpan {
  int64_t first = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();
  bool is_empty() const { return first >= end; }
};

/// The elements of an access at given sizes: begin + sum_i axes[i].stride * x_i for all x_i in
/// [0, axes[i].extent). Axes of extent 1 are left out. If `empty` is true, the access touches no element.
struct AccessBox {
  struct Axis {
    int64_t extent, stride;
  };
  int64_t begin = 0;
  std::vector<Axis> axes = {};
  bool empty = false;
};
/// Returns the elements of an access of a kernel. `extents` has the values of KernelCode::axes. This function
/// and the next two throw Error if a number overflows 64 bits.
AccessBox box_of(const KernelAccess& access, const std::vector<int64_t>& extents, const SymbolValues& values);
/// Returns the smallest range that has all elements of the box.
ElementSpan span_of(const AccessBox& box);
/// Returns the smallest range that has all elements which the kernel accesses by the parameter, including its
/// table (KernelParameter::table_elements).
ElementSpan span_of(const KernelParameter& parameter, const std::vector<int64_t>& extents,
                    const SymbolValues& values);

/// Checks the description of a kernel, independently of the steps that launch it. Throws Error
/// (invalid_file).
void check_parameters(const KernelCode& kernel);

/// Checks `launch`, which is the work of `step`. The number and types of its arguments must be those that its
/// kernel expects. Step::reads and Step::writes must list all buffers which the kernel reads and writes. The
/// kernel must not overwrite integers by which it indexes tables. Throws Error (invalid_file) that begins
/// with `place`, a description of the step.
void check_launch(const Plan& plan, const Step& step, const KernelStep& launch, const std::string& place);

}  // namespace smelt
