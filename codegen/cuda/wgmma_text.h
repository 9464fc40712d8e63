// Functions that multiply by wgmma, for a given shape. They come after the files of
// codegen/cuda/device/wgmma, which all kernels for sm_90a share.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/dtype.h"

namespace smelt {

std::string_view half_text(DType dtype);

/// `begin_NAME` and `multiply_NAME`: d[64, columns] = A B, or += A B, of 16 along k, A from shared memory or
/// registers. A transposed operand is not contiguous along k.
struct WgmmaShape {
  std::string_view name;
  int columns = 64;
  bool a_in_registers = false, a_transposed = false, b_transposed = false;
};
std::string wgmma_functions(const WgmmaShape& shape, DType dtype);

/// The largest loss of shared memory that begins at a multiple of 128 bytes, where tiles begin at multiples
/// of 1024.
constexpr int kAlignmentBytes = 1024 - 128;

}  // namespace smelt
