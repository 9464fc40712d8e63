// The helpers that CUDA kernels call, as text. The text is divided into pieces, each of which defines one
// type or function, and a kernel's source contains only the pieces that it needs.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"

namespace smelt {

/// Names of the pieces that a kernel needs. A piece has the name of the type or function that it defines.
/// Names that no piece has are ignored.
using PreludeNeeds = std::set<std::string, std::less<>>;

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
