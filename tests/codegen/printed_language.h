// The language whose texts the tests of rows of tables print: CUDA's, or HIP's in hip_kernel_tests.
#pragma once

#ifdef SMELT_HIP_ON_HOST
#include "codegen/hip/hip_language.h"
#include "codegen/hip/hip_pieces.h"
#else
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/cuda_language.h"
#endif

namespace smelt::test {

#ifdef SMELT_HIP_ON_HOST
inline constexpr const Language& kPrinted = kHip;
inline const Prelude& printed_pieces() { return hip_pieces(); }
#else
inline constexpr const Language& kPrinted = kCuda;
inline const Prelude& printed_pieces() { return all_cuda_pieces(); }
#endif

/// Returns the pieces of the prelude that `text` needs, before it.
inline std::string with_pieces(const std::string& text) {
  PreludeNeeds needs;
  printed_pieces().need_calls(needs, text);
  return printed_pieces().text(needs) + text;
}

}  // namespace smelt::test
