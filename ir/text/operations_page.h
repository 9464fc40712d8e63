// The reference of operations and attributes, made from ir/ops.def, ir/attributes.def, ir/scalar_ops.def and
// ir/reduce_ops.def.
#pragma once

#include <string>

namespace smelt {

/// All operations with their attributes, in Markdown: docs/operations.md, printed by `smelt opt
/// --list-operations`.
std::string operations_page();

}  // namespace smelt
