// Identifies the build of the compiler, because its version alone does not during development.
#pragma once

#include <string>

namespace smelt {

/// Returns the linker's build ids of the program (or library) that contains the compiler, and of LLVM where
/// that is a library, in hexadecimal; empty where the former has none.
const std::string& compiler_build_id();

}  // namespace smelt
