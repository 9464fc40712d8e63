// Lowers graphs with fusions and layouts to a Program: a fusion becomes a kernel (and a finishing kernel for
// sums over its rows), a matmul a gemm step, a scatter_add a sort and a segmented kernel, and a view that has
// to move data a copy. Equal kernels are shared. The kernels have no schedules yet
// (codegen/scheduling/schedule_kernels.h).
#pragma once

#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// All graphs of the module, each as an entry of its name, of steps that `target` has.
Program lower(const Module& module, const Target& target = {});

}  // namespace smelt
