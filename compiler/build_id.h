// Which build of the compiler this is: its version alone does not tell while it is being worked on.
#pragma once

#include <string>

namespace smelt {

/// The linker's build ids of the program (or library) that holds the compiler and of LLVM where that is a
/// library, in hexadecimal; empty where the former has none.
const std::string& compiler_build_id();

}  // namespace smelt
