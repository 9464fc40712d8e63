// Instruction sets of this processor, by the names that compilers use. A plan lists the instruction sets that
// its code needs (Plan::features).
#pragma once

#include <string>
#include <vector>

namespace smelt {

/// Returns "x86_64", "aarch64", ..., as uname does; "unknown" if the system does not report it.
std::string host_architecture();
/// Returns the names of the instruction sets of this processor: {"avx", "avx2", "fma", ...}. Sets that
/// generated code never uses are not listed. The list is empty if the processor is not x86_64.
std::vector<std::string> host_features();

}  // namespace smelt
