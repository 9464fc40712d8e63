#include "codegen/hip/missing_functions.h"

#include <set>

#include "codegen/gpu/thread_ir/visit_statements.h"

namespace smelt {
namespace {

std::set<std::string> called_functions(const gpu::Launch& launch) {
  std::set<std::string> names;
  const auto add = [&](const gpu::ExprNode& node) {
    if (node.kind == gpu::ExprNode::Kind::call) names.insert(node.name);
  };
  gpu::visit_statements(launch, [&](const gpu::Statement& statement) {
    gpu::visit_expressions(statement, [&](const gpu::Expr& tree) { gpu::visit_nodes(tree, add); });
  });
  return names;
}

}  // namespace

std::string missing_function(const gpu::Launch& launch, const Prelude& prelude) {
  std::set<std::string> known;
  for (const gpu::Function& function : launch.functions) known.insert(function.name);
  if (launch.has_last_block) known.insert("is_last_block");
  for (const std::string& name : called_functions(launch))
    if (known.count(name) == 0 && !prelude.defines(name)) return name;
  return "";
}

}  // namespace smelt
