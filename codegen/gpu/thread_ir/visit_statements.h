// Visits of the statements of thread IR and of their expressions.
#pragma once

#include <functional>
#include <variant>

#include "codegen/gpu/thread_ir/function.h"

namespace smelt::gpu {

/// Calls visit(statement) for the statements of a body and of the bodies within it, outer ones first.
void visit_statements(const Body& body, const std::function<void(const Statement&)>& visit);
/// Does the same for the code of a launch and of its device functions.
void visit_statements(const Launch& launch, const std::function<void(const Statement&)>& visit);
/// Calls visit(expression) for the expressions of one statement, without those of the body within it.
void visit_expressions(const Statement& statement, const std::function<void(const Expr&)>& visit);

}  // namespace smelt::gpu
