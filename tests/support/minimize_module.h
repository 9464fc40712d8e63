// Reduction of a module on which a test fails to a smaller module on which it still fails.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ir/graph/graph.h"
#include "ir/graph/verifier.h"

namespace smelt::testing {

/// Returns whether the test fails on a module.
using Failing = std::function<bool(const Module&)>;

namespace minimising {

using Edit = std::function<bool(Graph&)>;  // changes a graph; returns false if it is not applicable

/// Returns the module after the edit and the removal of unused nodes. Returns null if the edit is not
/// applicable, or if the result is invalid or does not fail.
inline std::unique_ptr<Module> attempt(const Module& module, size_t graph, const Edit& edit,
                                       const Failing& failing) {
  std::unique_ptr<Module> copy = module.clone();
  if (!edit(*copy->graphs[graph])) return nullptr;
  copy->graphs[graph]->prune();
  return verify(*copy).empty() && failing(*copy) ? std::move(copy) : nullptr;
}

inline Node* node_at(Graph& graph, size_t index) {
  auto it = graph.nodes().begin();
  std::advance(it, index);
  return it->get();
}

inline bool drop_output(Graph& graph, size_t index) {
  if (index >= graph.outputs.size() || graph.outputs.size() == 1) return false;
  graph.outputs.erase(graph.outputs.begin() + static_cast<ptrdiff_t>(index));
  return true;
}

/// Replaces the value of an output by an operand of the node that computes it.
inline bool retarget_output(Graph& graph, size_t index, unsigned operand) {
  if (index >= graph.outputs.size()) return false;
  const Node* node = graph.outputs[index].value->node();
  if (operand >= node->operands().size()) return false;
  graph.outputs[index].value = node->operand(operand);
  return true;
}

inline bool drop_node(Graph& graph, size_t index) {
  Node* node = node_at(graph, index);
  for (const auto& result : node->results())
    if (!result->users().empty() || graph.is_output(result.get())) return false;
  graph.erase(node);
  return true;
}

/// Replaces the uses of a node by one of its operands of the same type.
inline bool bypass(Graph& graph, size_t index, unsigned operand) {
  Node* node = node_at(graph, index);
  if (operand >= node->operands().size() || node->result_count() != 1 ||
      node->operand(operand)->type != node->result()->type)
    return false;
  graph.replace_all_uses(node->result(), node->operand(operand));
  return true;
}

/// Replaces the uses of a node by a new input.
inline bool cut(Graph& graph, size_t index) {
  Node* node = node_at(graph, index);
  if (info(node->op()).has(Trait::leaf) || node->result_count() == 0 || node->result()->dtype() != DType::f32)
    return false;
  std::string name = "cut" + std::to_string(index);
  while (graph.find_input(name)) name += "_";
  Node* input = graph.create(Op::input, {}, node->result()->type, graph.nodes().front().get());
  input->set(attr::name, name);
  graph.replace_all_uses(node->result(), input->result());
  return true;
}

/// Tries each edit once, and keeps it if the test still fails on the module after it. Returns whether an edit
/// was kept.
inline bool improve(std::unique_ptr<Module>& module, const Failing& failing) {
  bool changed = false;
  for (size_t g = 0; g < module->graphs.size(); ++g) {
    const auto sweep = [&](auto size, const std::function<Edit(size_t)>& edit) {
      for (size_t i = size(); i-- > 0;) {
        if (i >= size()) continue;
        if (auto smaller = attempt(*module, g, edit(i), failing)) module = std::move(smaller), changed = true;
      }
    };
    const auto outputs = [&] { return module->graphs[g]->outputs.size(); };
    const auto nodes = [&] { return module->graphs[g]->size(); };
    sweep(outputs, [](size_t i) { return Edit([i](Graph& graph) { return drop_output(graph, i); }); });
    for (unsigned k : {0u, 1u})
      sweep(outputs,
            [k](size_t i) { return Edit([=](Graph& graph) { return retarget_output(graph, i, k); }); });
    sweep(nodes, [](size_t i) { return Edit([i](Graph& graph) { return bypass(graph, i, 0); }); });
    sweep(nodes, [](size_t i) { return Edit([i](Graph& graph) { return bypass(graph, i, 1); }); });
    sweep(nodes, [](size_t i) { return Edit([i](Graph& graph) { return cut(graph, i); }); });
    sweep(nodes, [](size_t i) { return Edit([i](Graph& graph) { return drop_node(graph, i); }); });
  }
  return changed;
}

inline void drop_unused_parameters(Module& module) {
  const auto unused = [&](const Module::Parameter& parameter) {
    for (const auto& graph : module.graphs)
      for (const auto& node : graph->nodes())
        if (node->is(Op::parameter) && node->get(attr::name) == parameter.name) return false;
    return true;
  };
  std::erase_if(module.parameters, unused);
}

}  // namespace minimising

/// Repeats improve() at most eight times, and removes unused parameters if the test still fails without them.
/// Returns the result. Requires: failing(module).
inline std::unique_ptr<Module> minimize(const Module& module, const Failing& failing) {
  std::unique_ptr<Module> result = module.clone();
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round)
    if (!minimising::improve(result, failing)) break;
  std::unique_ptr<Module> bare = result->clone();
  minimising::drop_unused_parameters(*bare);
  return failing(*bare) ? std::move(bare) : std::move(result);
}

}  // namespace smelt::testing
