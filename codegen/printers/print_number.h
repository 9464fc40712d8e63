// Numbers of the thread IR as literals of CUDA C++.
#pragma once

#include <string>

#include "codegen/gpu/thread_ir/expression.h"

namespace smelt {

/// Returns the literal of a node of the kind `number`; those of numbers below 0 begin with '-'.
std::string number_text(const gpu::ExprNode& number);

}  // namespace smelt
