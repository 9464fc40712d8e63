#include "compiler/report/report_data.h"

#include <fmt/ranges.h>

#include "compiler/report/source_layer.h"
#include "ir/analysis/reading_order.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {
namespace {

/// "matmul", "parameter h.0.ln_1.weight", "fusion".
std::string label(const Node& node) {
  for (const auto& attribute : {attr::name, attr::state})
    if (node.has(attribute)) return fmt::format("{} {}", node.mnemonic(), node.get(attribute));
  return node.is(Op::input) ? fmt::format("input {}", node.result()->name) : std::string(node.mnemonic());
}

std::string_view kind_of(const Node& node) {
  const OpInfo& row = info(node.op());
  if (row.has(Trait::leaf)) return "leaf";
  if (row.has(Trait::view)) return "view";
  return row.has(Trait::effect) ? "effect" : "step";
}

class BodyWriter {
 public:
  std::string text(const Graph& body) {
    std::string lines;
    for (const Node* node : reading_order(body)) {
      name_results(*node);
      lines += line(*node) + "\n";
    }
    std::vector<std::string> outputs;
    for (const Graph::Output& output : body.outputs) outputs.push_back(names_.lookup(output.value));
    return lines + fmt::format("return {}", fmt::join(outputs, ", "));
  }

 private:
  void name_results(const Node& node) {
    for (const auto& result : node.results())
      names_[result.get()] =
          node.is(Op::input) ? fmt::format("%a{}", inputs_++) : fmt::format("%{}", values_++);
  }

  std::string line(const Node& node) const {
    std::vector<std::string> results, operands, attributes, types;
    for (const auto& result : node.results())
      results.push_back(names_.lookup(result.get())), types.push_back(str(result->type));
    for (const Value* operand : node.operands()) operands.push_back(names_.lookup(operand));
    for (const auto& [key, value] : node.attributes)
      if (!node.is(Op::input)) attributes.push_back(fmt::format("{} = {}", key, str(value)));
    const std::string op =
        node.is(Op::reduce) ? fmt::format("reduce {}", name(node.reduce_op)) : std::string(node.mnemonic());
    return fmt::format("{} = {}{}{}{} : {}", fmt::join(results, ", "), op, operands.empty() ? "" : " ",
                       fmt::join(operands, ", "),
                       attributes.empty() ? "" : fmt::format(" {{{}}}", fmt::join(attributes, ", ")),
                       fmt::join(types, ", "));
  }

  llvm::DenseMap<const Value*, std::string> names_;
  int inputs_ = 0, values_ = 0;
};

Json results_of(const Node& node, TextPool& texts) {
  Json results = Json::array();
  for (const auto& result : node.results())
    results.push_back(
        {texts.add(str(result->type)),
         bytes_at_bounds(node.graph().module().symbols, element_count(result->shape()), result->dtype())});
  return results;
}

}  // namespace

std::string body_text(const Graph& body) { return BodyWriter().text(body); }

Json graph_data(const Graph& graph, const std::vector<NodeSteps>& links, TextPool& texts) {
  llvm::DenseMap<const Node*, size_t> places;
  llvm::DenseMap<const Node*, const NodeSteps*> steps;
  for (const NodeSteps& link : links) steps[link.node] = &link;
  Json nodes = Json::array();
  for (const auto& node : graph.nodes()) {
    places[node.get()] = nodes.size();
    Json operands = Json::array();
    for (const Value* operand : node->operands())
      operands.push_back({places.lookup(operand->node()), operand->index()});
    Json row = {{"op", texts.add(label(*node))},
                {"source", texts.add(node->source)},
                {"layer", texts.add(layer_of(source_parts(node->source)))},
                {"phase", name(node->phase)},
                {"kind", kind_of(*node)},
                {"in", std::move(operands)},
                {"out", results_of(*node, texts)}};
    if (node->body) row["body"] = texts.add(body_text(*node->body));
    if (const NodeSteps* link = steps.lookup(node.get())) row["steps"] = link->steps;
    nodes.push_back(std::move(row));
  }
  return nodes;
}

}  // namespace smelt
