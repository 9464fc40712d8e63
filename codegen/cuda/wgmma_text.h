// CUDA text of functions that multiply by wgmma, for a given shape. The text comes after the files of
// codegen/cuda/device/wgmma, which all kernels for sm_90a share.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/dtype.h"

namespace smelt {

/// Returns "bf16" or "f16", as in PTX.
std::string_view half_text(DType dtype);

/// The shape of a pair of functions: begin_NAME computes d = A B, and multiply_NAME computes d += A B. NAME
/// is `name`, A is [64,16], B is [16,columns], and d is [64,columns] in f32. A transposed operand is not
/// contiguous along k. Operands are in shared memory, unless A is in registers.
struct WgmmaShape {
  std::string_view name;
  int columns = 64;
  bool a_in_registers = false, a_transposed = false, b_transposed = false;
};
/// Returns the text of both functions.
std::string wgmma_functions(const WgmmaShape& shape, DType dtype);

/// Bytes of shared memory that a kernel requests in addition to its tiles. Shared memory begins at a multiple
/// of 128 bytes, but the first tile must begin at a multiple of 1024.
constexpr int kAlignmentBytes = 1024 - 128;

}  // namespace smelt
