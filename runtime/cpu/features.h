// Which instructions this processor has, by the names that compilers use: a plan lists those its code needs.
#pragma once

#include <string>
#include <vector>

namespace smelt {

/// "x86_64", "aarch64".
std::string host_architecture();
/// Returns the instruction sets of this processor that matter to generated code: {"avx", "avx2", "fma", ...}.
std::vector<std::string> host_features();

}  // namespace smelt
