// Identification of the compiler's build. The version is not sufficient, because it does not change during
// development.
#pragma once

#include <string>

namespace smelt {

/// Returns "ID+LLVM_ID": the linker's build ids, in hexadecimal, of the program or library that contains the
/// compiler, and of the LLVM library (nothing after "+" if LLVM is linked statically). Returns an empty text
/// if the program has no build id.
const std::string& compiler_build_id();

}  // namespace smelt
