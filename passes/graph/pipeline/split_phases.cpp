#include "passes/graph/pipeline/split_phases.h"

#include <fmt/format.h>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "passes/analysis.h"
#include "passes/graph/pipeline/cut_stages.h"

namespace smelt {
namespace {

/// Returns whether backward takes it from where forward took it, or makes it at no cost.
bool is_taken_again(const Node& node) { return info(node.op()).has(Trait::leaf) && !node.is(Op::random); }

/// Merged weights: they lie side by side, and are no part of what a micro-batch leaves.
bool is_of_parameters(const Value& value) {
  const Node& node = *value.node();
  if (node.is(Op::parameter) || node.is(Op::state)) return true;
  return (is_view(node) || node.is(Op::concat)) &&
         llvm::all_of(node.operands(), [](const Value* operand) { return is_of_parameters(*operand); });
}

class PhaseSplitter {
 public:
  PhaseSplitter(const Graph& graph, int64_t part)
      : graph_(graph),
        part_(part),
        forward_(std::make_unique<Graph>(graph.module(), part_name("forward", part))),
        backward_(std::make_unique<Graph>(graph.module(), part_name("backward", part))) {}

  std::pair<std::unique_ptr<Graph>, std::unique_ptr<Graph>> run() {
    for (const auto& node : graph_.nodes())
      if (is_behind(*node))
        late_.insert(node.get());
      else
        copy(*node, *forward_, forward_values_);
    for (const Graph::Output& output : graph_.outputs)
      if (!is_late(output.value) && !is_gradient(output))
        forward_->outputs.push_back({output.name, forward_values_.lookup(output.value)});
    for (const Node* input : graph_.inputs()) copy(*input, *backward_, backward_values_);
    for (const auto& node : graph_.nodes())
      if (is_late(node.get())) copy_late(*node);
    for (const Graph::Output& output : graph_.outputs)
      if (is_late(output.value) || is_gradient(output))
        backward_->outputs.push_back({output.name, in_backward_graph(output.value)});
    for (Graph* graph : {forward_.get(), backward_.get()}) drop_unread(*graph);
    return {std::move(forward_), std::move(backward_)};
  }

 private:
  using Values = llvm::DenseMap<const Value*, Value*>;

  bool is_late(const Node* node) const { return late_.contains(node); }
  bool is_late(const Value* value) const { return is_late(value->node()); }
  bool is_behind(const Node& node) const {
    return !in_forward(node) || llvm::any_of(node.operands(), [&](const Value* v) { return is_late(v); });
  }
  /// One may be a constant.
  bool is_gradient(const Graph::Output& output) const {
    return llvm::StringRef(output.name).starts_with("gradients.");
  }

  static void copy(const Node& node, Graph& into, Values& values) {
    llvm::SmallVector<Value*, 4> operands;
    for (const Value* operand : node.operands()) operands.push_back(values.lookup(operand));
    const Node* twin = into.clone(node, operands);
    for (unsigned i = 0; i < node.result_count(); ++i) values[node.result(i)] = twin->result(i);
  }

  void copy_late(const Node& node) {
    for (const Value* operand : node.operands()) in_backward_graph(operand);
    copy(node, *backward_, backward_values_);
  }

  Value* in_backward_graph(const Value* value) {
    if (Value* known = backward_values_.lookup(value)) return known;
    const Node& node = *value->node();
    if (is_taken_again(node) || is_view(node) || is_of_parameters(*value)) {
      for (const Value* operand : node.operands()) in_backward_graph(operand);
      copy(node, *backward_, backward_values_);
    } else {
      backward_values_[value] = saved(value);
    }
    return backward_values_.lookup(value);
  }

  /// As an input of backward that is an output of forward; what forward returns anyway has its name.
  Value* saved(const Value* value) {
    Value* made = forward_values_.lookup(value);
    auto output = llvm::find_if(forward_->outputs, [&](const auto& o) { return o.value == made; });
    if (output == forward_->outputs.end()) {
      forward_->outputs.push_back({saved_name(part_, saved_count_++), made});
      output = std::prev(forward_->outputs.end());
    }
    Node* input = backward_->create(Op::input, {}, {value->type});
    input->set(attr::name, output->name);
    input->source = value->node()->source;
    input->result()->sharding = value->sharding;
    return input->result();
  }

  /// Removes unread inputs from other parts, but not those of the batch, because sizes are taken from them.
  static void drop_unread(Graph& graph) {
    graph.prune();
    for (Node* input : graph.inputs()) {
      const llvm::StringRef name = input->get(attr::name);
      const bool is_sent = name.starts_with("values.") || name.starts_with("gradients.");
      if (is_sent && input->result()->users().empty() && !graph.is_output(input->result()))
        graph.erase(input);
    }
  }

  const Graph& graph_;
  const int64_t part_;
  std::unique_ptr<Graph> forward_, backward_;
  llvm::DenseSet<const Node*> late_;
  Values forward_values_, backward_values_;
  size_t saved_count_ = 0;
};

}  // namespace

bool split_phases(Module& module, const SplitPhasesOptions& options) {
  std::vector<std::unique_ptr<Graph>> made;
  for (auto& graph : module.graphs) {
    const auto part = part_number(graph->name, options.loss);
    if (!part) {
      made.push_back(std::move(graph));
      continue;
    }
    auto [forward, backward] = PhaseSplitter(*graph, *part).run();
    made.push_back(std::move(forward));
    made.push_back(std::move(backward));
  }
  const bool changed = made.size() != module.graphs.size();
  module.graphs = std::move(made);
  return changed;
}

std::string saved_name(int64_t part, size_t number) { return fmt::format("saved.{}.{}", part, number); }

}  // namespace smelt
