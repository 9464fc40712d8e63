// From graphs with fusions and layouts to a Program: a fusion becomes a kernel (and a finishing kernel for
// sums over its rows), a matmul a gemm step, a scatter_add a sort and a segmented kernel, a view that has to
// move data a copy. Equal kernels are shared. They have no schedules yet
// (codegen/scheduling/schedule_kernels.h).
#pragma once

#include "ir/graph.h"
#include "ir/program.h"
#include "ir/target.h"

namespace smelt {

/// All graphs of the module, each as an entry of its name, of steps that `target` has.
Program lower(const Module& module, const Target& target = {});

}  // namespace smelt
