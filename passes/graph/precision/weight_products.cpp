#include "passes/graph/precision/weight_products.h"

#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/parameter_patterns.h"

namespace smelt {
namespace {

constexpr int64_t kLine = 16;

/// The names of the parameters that the value shows; empty if it is anything else.
std::set<std::string> parameters_behind(const Value* value) {
  const Node& node = *value->node();
  if (node.is(Op::parameter)) return {node.get(attr::name)};
  std::set<std::string> names;
  if (!is_view(node) && !node.is(Op::concat) && !node.is(Op::convert)) return names;
  for (const Value* operand : node.operands()) {
    const std::set<std::string> more = parameters_behind(operand);
    if (more.empty()) return {};
    names.insert(more.begin(), more.end());
  }
  return names;
}

std::optional<WeightProduct> product_of(Node& node) {
  if (!node.is(Op::matmul) || node.body || node.result()->dtype() != DType::f32) return std::nullopt;
  for (const unsigned side : {1u, 0u})
    if (!parameters_behind(node.operand(side)).empty() && parameters_behind(node.operand(1 - side)).empty())
      return WeightProduct{&node, side};
  return std::nullopt;
}

}  // namespace

std::set<std::string> WeightProduct::names() const { return parameters_behind(node->operand(weight)); }

std::vector<WeightProduct> weight_products(const Graph& graph) {
  std::vector<WeightProduct> products;
  for (const auto& node : graph.nodes())
    if (auto found = product_of(*node)) products.push_back(*found);
  return products;
}

std::set<const Node*> nodes_before(const std::vector<WeightProduct>& products) {
  std::set<const Node*> seen;
  std::vector<const Node*> open;
  for (const WeightProduct& each : products) open.push_back(each.activations()->node());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    for (const Value* operand : node->operands()) open.push_back(operand->node());
  }
  return seen;
}

std::optional<WeightSize> size_of_weight(const WeightProduct& product) {
  const MatmulSpec spec = parse_matmul_spec(product.node->get(attr::spec));
  const std::string& letters = product.weight == 0 ? spec.a : spec.b;
  const std::string& others = product.weight == 0 ? spec.b : spec.a;
  WeightSize size;
  for (const auto [i, letter] : llvm::enumerate(letters)) {
    const auto extent = product.node->operand(product.weight)->shape()[i].constant();
    const bool is_summed = spec.out.find(letter) == std::string::npos;
    if (!extent || (!is_summed && others.find(letter) != std::string::npos)) return std::nullopt;
    (is_summed ? size.inputs : size.outputs) *= *extent;
  }
  return size;
}

bool is_whole_lines(const WeightSize& size) { return size.inputs % kLine == 0 && size.outputs % kLine == 0; }

std::set<std::string> names_that_fit(const Module& module, const std::vector<std::string>& patterns) {
  std::set<std::string> names;
  const std::vector<bool> fits = parameters_that_fit(module, patterns);
  for (auto [i, parameter] : llvm::enumerate(module.parameters))
    if (fits[i]) names.insert(parameter.name);
  return names;
}

int64_t next_cotangent(const Graph& graph) {
  int64_t id = 0;
  for (const auto& node : graph.nodes())
    if (node->is(Op::cotangent)) id = std::max(id, node->get(attr::id) + 1);
  return id;
}

}  // namespace smelt
