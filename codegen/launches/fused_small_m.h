// Fusion of a matmul by weights and the kernels before and after it into one kernel of a template: that for
// few rows (codegen/cuda/small_m/), or that for any number of rows and weights that are bytes, which has no
// kernel before it (codegen/cuda/byte_gemm/).
#pragma once

#include <optional>
#include <vector>

#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// The kernels around a matmul that are fused with it.
struct SmallMNeighbours {
  const DequantizeStep* packed = nullptr;  // step that makes B of packed codes; null: B is read as it is
  const KernelStep* before = nullptr;      // kernel that computes A; null: none is fused
  const KernelStep* reader = nullptr;      // kernel that reads the matmul's result; null: none is fused
  /// Whether A and the result are also stored in memory, because other steps read them.
  bool keeps_a = false, keeps_result = false;
};

/// The kernel that results from the fusion, and its arguments.
struct FusedSmallM {
  Kernel kernel;
  std::vector<BufferRef> arguments;  // of the kernel, then of its prologue
};

/// Returns whether one of the two templates supports the matmul. The matmul must have at most kMostSmallM
/// rows; or its weights are bytes, it has at least one row, and the GPU has wgmma. alpha must be 1. The
/// weights must have constant sizes, and no step of the entry may write the weights. The pitches of the rows
/// of A and of the columns of B, and the offsets of A and B in their buffers, must be multiples of 16 bytes.
bool takes_small_m(const Program& program, const PlanEntry& entry, const GemmStep& gemm,
                   const Target& target);
/// Returns whether the template for few rows supports the matmul, and reads the codes that `packed` would
/// make floats of.
bool takes_packed(const Program& program, const PlanEntry& entry, const GemmStep& gemm,
                  const DequantizeStep& packed);

/// Returns the fused kernel, or nothing if one of the neighbours cannot be fused. Requires: takes_small_m is
/// true for the matmul, or takes_packed if there are packed codes.
std::optional<FusedSmallM> fused_small_m(const Program& program, const GemmStep& gemm,
                                         const SmallMNeighbours& around, const Target& target);

}  // namespace smelt
