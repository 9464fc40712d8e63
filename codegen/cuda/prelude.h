// The helpers that CUDA kernels call, as text (codegen/printers/prelude.h).
#pragma once

#include "codegen/printers/prelude.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// Returns all pieces that CUDA text may contain.
const Prelude& all_cuda_pieces();
/// Returns the text of the pieces, and of the pieces that they need themselves, in an order that compiles.
std::string cuda_prelude(const PreludeNeeds& needs);

/// Returns the C++ type of an element in memory. A type that C++ does not have, such as bf16, is also the
/// name of the piece that defines it.
std::string_view cuda_memory_type(DType type);
/// Adds the piece that defines cuda_memory_type(type), if there is one.
void need_element(PreludeNeeds& needs, DType type);
/// Adds the piece of every function of the prelude that `text` calls.
void need_calls(PreludeNeeds& needs, std::string_view text);

}  // namespace smelt
