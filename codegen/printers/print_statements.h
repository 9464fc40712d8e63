// Thread IR -> C++ of GPUs: statements. One statement has one or several lines; blocks have braces.
#pragma once

#include <string>

#include "codegen/gpu/thread_ir/statement.h"
#include "codegen/printers/language.h"

namespace smelt {

/// Returns the lines of the statements, indented by 2 spaces per open block. `depth`: blocks around them.
std::string print(const Language& language, const gpu::Body& body, size_t depth = 0);

}  // namespace smelt
