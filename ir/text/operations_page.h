// Reference page of operations and attributes, from ir/ops/ops.def, ir/ops/attributes.def,
// ir/ops/scalar_ops.def and ir/ops/reduce_ops.def.
#pragma once

#include <string>

namespace smelt {

/// Returns all operations with their attributes, in Markdown: docs/operations.md, printed by `smelt opt
/// --list-operations`.
std::string operations_page();

}  // namespace smelt
