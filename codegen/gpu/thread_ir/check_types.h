// Rules for the types of the operands of an expression.
#pragma once

#include <string>

#include "codegen/gpu/thread_ir/expression.h"

namespace smelt::gpu {

/// Returns the fault in the types of a node's operands; "" if there is none.
std::string type_fault(const ExprNode& node);
/// Returns whether a variable of one type takes a value of the other without a cast: equal types, or any two
/// types of integers.
bool takes(const Type& variable, const Type& value);

}  // namespace smelt::gpu
