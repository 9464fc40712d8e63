// A small-M GEMM and the kernels around it as one kernel of the template (codegen/cuda/small_m/).
#pragma once

#include <optional>
#include <vector>

#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// The kernels around a matmul; results that other steps read, too, are kept.
struct SmallMNeighbours {
  const KernelStep* before = nullptr;
  const KernelStep* reader = nullptr;
  bool keeps_a = false, keeps_result = false;
};

struct FusedSmallM {
  Kernel kernel;
  std::vector<BufferRef> arguments;  // the kernel's own, then those of the one before
};

/// Returns whether the template takes the matmul: at most a few rows, known sizes of weights, vectors of 16
/// bytes.
bool takes_small_m(const Program& program, const PlanEntry& entry, const GemmStep& gemm);

/// Returns the kernel; nothing where the template does not take one of the neighbours.
std::optional<FusedSmallM> fused_small_m(const Program& program, const GemmStep& gemm,
                                         const SmallMNeighbours& around, const Target& target);

}  // namespace smelt
