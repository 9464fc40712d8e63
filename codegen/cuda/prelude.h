// The helpers that CUDA kernels call, as text: a kernel's source holds those it uses and no others.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"

namespace smelt {

/// Names of the pieces of text that a kernel needs; a scalar function's piece has the function's own name.
using PreludeNeeds = std::set<std::string, std::less<>>;

/// The pieces and what they need themselves, in an order that compiles.
std::string cuda_prelude(const PreludeNeeds& needs);

/// The C++ type of an element in memory, and the piece that defines it ("" for types of the language).
std::string_view cuda_memory_type(DType type);
/// Adds what reading or writing elements of this type calls.
void need_element(PreludeNeeds& needs, DType type);
/// Adds every function of the prelude that `text` calls.
void need_calls(PreludeNeeds& needs, std::string_view text);

}  // namespace smelt
