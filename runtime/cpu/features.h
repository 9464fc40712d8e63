// Instruction sets of this processor, by the names that compilers use. A plan lists those that its code needs
// (Plan::features).
#pragma once

#include <string>
#include <vector>

namespace smelt {

/// Returns "x86_64", "aarch64", ..., as uname does; "unknown" if the system does not report it.
std::string host_architecture();
/// Returns the instruction sets that this processor has, of those that generated code may use: {"avx",
/// "avx2", "fma", ...}. Empty on other processors than x86_64.
std::vector<std::string> host_features();

}  // namespace smelt
