// Identification of the compiler's build. The version is not sufficient, because it does not change during
// development.
#pragma once

#include <string>

namespace smelt {

/// Returns "ID+LLVM_ID", two build ids of the linker in hexadecimal. ID is that of the program or library
/// that contains the compiler. LLVM_ID is that of the LLVM library; it is empty if LLVM is linked statically.
/// Returns an empty text if there is no ID.
const std::string& compiler_build_id();

}  // namespace smelt
