// Kernel IR -> thread IR for one kernel: the code of a thread. The kernel's schedule specifies how threads
// share the work.
#pragma once

#include <vector>

#include "codegen/gpu/lower/kernel_names.h"
#include "codegen/gpu/thread_ir/statement.h"
#include "ir/kernel/kernel.h"

namespace smelt::gpu {

struct LoweredBody {
  KernelNames names;
  Body code;
  /// Conditions on the sizes at launch under which all vectors are aligned. If all hold, the code around this
  /// may define the constant `aligned` as true; the code then accesses memory by vectors. Empty if the code
  /// has no VectorAccess::Aligned::by_sizes.
  std::vector<Expr> alignment_conditions;
  int64_t shared_floats = 0, shared_ints = 0;  // elements of the arrays shared_floats and shared_ints
};

/// Returns the code of a kernel without a template. `block`: the number of the thread block. Requires: the
/// kernel has a schedule for a GPU.
LoweredBody lower_body(const Kernel& kernel, const Expr& block);

}  // namespace smelt::gpu
