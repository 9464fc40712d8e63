// Identifies the build of the compiler: during development its version alone does not.
#pragma once

#include <string>

namespace smelt {

/// The linker's build ids of the program (or library) that holds the compiler and of LLVM where that is a
/// library, in hexadecimal; empty where the former has none.
const std::string& compiler_build_id();

}  // namespace smelt
