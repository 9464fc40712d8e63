// CUDA text of functions that multiply two tiles with wgmma instructions. The functions call those in the
// files of codegen/cuda/device/wgmma, so the text of these files must come first.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/dtype.h"

namespace smelt {

/// Returns "bf16" or "f16", as in PTX.
std::string_view half_text(DType dtype);

/// Shapes and locations of the operands of two functions: begin_NAME computes d = A B, and multiply_NAME
/// computes d += A B. NAME is the member `name`. A is [64,16], B is [16,columns], and d is [64,columns] in
/// f32. An operand is transposed if it is not contiguous along the summed dim of 16. B is in shared memory; A
/// is in shared memory or in registers.
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
