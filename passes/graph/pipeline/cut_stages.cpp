#include "passes/graph/pipeline/cut_stages.h"

#include <charconv>
#include <set>

#include "ir/graph/builder.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/pipeline/assign_parts.h"
#include "passes/graph/pipeline/remade_values.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr std::string_view kTokenCount = "token_count";

/// Needs of one part: its own nodes, copies of recomputed nodes, and values of earlier parts.
struct PartNeeds {
  llvm::DenseSet<const Node*> nodes;
  std::vector<const Value*> before, behind;  // what crosses its boundaries, in program order
};

class GraphCutter {
 public:
  GraphCutter(const Graph& graph, int64_t parts, const PartEnds& ends)
      : graph_(graph),
        part_of_(assign_parts(graph, ends)),
        remade_(graph),
        needs_(static_cast<size_t>(parts)) {
    find_needs();
  }

  const PartNeeds& needs(int64_t part) const { return needs_[static_cast<size_t>(part)]; }

  std::unique_ptr<Graph> part(int64_t number) const {
    auto made = std::make_unique<Graph>(graph_.module(), part_name(graph_.name, number));
    const PartNeeds& part = needs(number);
    llvm::DenseMap<const Value*, Value*> map;
    GraphBuilder b(*made);
    for (const Node* input : graph_.inputs()) copy(*input, *made, map);
    for (size_t i = 0; i < part.before.size(); ++i)
      map[part.before[i]] = b.input(values_name(number, i), part.before[i]->type);
    for (const auto& node : graph_.nodes())
      if (part.nodes.contains(node.get()) && !node->is(Op::input)) copy(*node, *made, map);
    for (size_t i = 0; i < part.behind.size(); ++i)
      b.output(values_name(number + 1, i), map.lookup(part.behind[i]));
    for (const Graph::Output& output : graph_.outputs)
      if (is_output_of(output, number)) b.output(output.name, map.lookup(output.value));
    return made;
  }

 private:
  static void copy(const Node& node, Graph& into, llvm::DenseMap<const Value*, Value*>& map) {
    llvm::SmallVector<Value*, 4> operands;
    for (const Value* operand : node.operands()) operands.push_back(map.lookup(operand));
    const Node* twin = into.clone(node, operands);
    for (unsigned i = 0; i < node.result_count(); ++i)
      if (!map.contains(node.result(i))) map[node.result(i)] = twin->result(i);
  }

  int64_t part_of(const Value* value) const { return part_of_.lookup(value->node()); }

  /// From the last part on: the needs of one are values that the one before it hands on.
  void find_needs() {
    for (size_t part = needs_.size(); part-- > 0;) {
      const auto number = static_cast<int64_t>(part);
      llvm::DenseSet<const Value*> before;
      for (const Graph::Output& output : graph_.outputs)
        if (is_output_of(output, number)) demand(output.value, number, before);
      for (const Value* value : needs_[part].behind) demand(value, number, before);
      trace(number, before);
      needs_[part].before = in_order(before);
      if (part > 0) needs_[part - 1].behind = needs_[part].before;
    }
  }

  bool is_output_of(const Graph::Output& output, int64_t part) const {
    if (output.name == kTokenCount) return true;
    return part_of(output.value) == part;
  }

  void demand(const Value* value, int64_t part, llvm::DenseSet<const Value*>& before) {
    if (part_of(value) == part || remade_.is_remade(value))
      needs_[static_cast<size_t>(part)].nodes.insert(value->node());
    else
      before.insert(value);
  }

  /// Adds recomputed values with all nodes that they depend on.
  void trace(int64_t part, llvm::DenseSet<const Value*>& before) {
    auto& nodes = needs_[static_cast<size_t>(part)].nodes;
    for (const auto& node : llvm::reverse(graph_.nodes())) {
      if (!nodes.contains(node.get())) continue;
      const bool is_own = part_of_.lookup(node.get()) == part;
      for (const Value* operand : node->operands()) {
        if (is_own)
          demand(operand, part, before);
        else
          nodes.insert(operand->node());
      }
    }
  }

  std::vector<const Value*> in_order(const llvm::DenseSet<const Value*>& values) const {
    std::vector<const Value*> list;
    for (const auto& node : graph_.nodes())
      for (const auto& result : node->results())
        if (values.contains(result.get())) list.push_back(result.get());
    return list;
  }

  const Graph& graph_;
  const llvm::DenseMap<const Node*, int64_t> part_of_;
  RemadeValues remade_;
  std::vector<PartNeeds> needs_;
};

void check_token_count(const Graph& graph) {
  const auto count =
      llvm::find_if(graph.outputs, [](const Graph::Output& output) { return output.name == kTokenCount; });
  if (count != graph.outputs.end() && !RemadeValues(graph).is_made_of_inputs(count->value))
    fail(
        "graph @{}: token_count depends on parameters; the stages of a pipeline need it to be a number of "
        "the inputs alone",
        graph.name);
}

/// The stages that read each parameter, by its name.
using ParameterStages = std::map<std::string, std::set<int64_t>, std::less<>>;

void add_stages(const GraphCutter& cutter, const CutStagesOptions& options, ParameterStages& stages) {
  for (int64_t part = 0; part < options.parts(); ++part)
    for (const Node* node : cutter.needs(part).nodes)
      if (node->is(Op::parameter)) stages[node->get(attr::name)].insert(part % options.stages);
}

void keep_parameters(Module& module, const ParameterStages& stages, int64_t stage) {
  static const std::set<int64_t> kFirst = {0};
  const auto readers = [&](const Module::Parameter& parameter) -> const std::set<int64_t>& {
    const auto found = stages.find(parameter.name);
    return found == stages.end() ? kFirst : found->second;
  };
  llvm::erase_if(module.parameters,
                 [&](const auto& parameter) { return !readers(parameter).contains(stage); });
  for (Module::Parameter& parameter : module.parameters)
    if (readers(parameter).size() > 1)
      parameter.stages.assign(readers(parameter).begin(), readers(parameter).end());
}

void cut_graph(Module& module, const std::string& name, const PartEnds& ends, const CutStagesOptions& options,
               ParameterStages& stages) {
  const auto place = llvm::find_if(module.graphs, [&](const auto& graph) { return graph->name == name; });
  if (place == module.graphs.end()) return;
  check_token_count(**place);
  const GraphCutter cutter(**place, options.parts(), ends);
  add_stages(cutter, options, stages);
  std::vector<std::unique_ptr<Graph>> parts;
  for (int64_t part = options.stage; part < options.parts(); part += options.stages)
    parts.push_back(cutter.part(part));
  module.graphs.erase(place);
  for (auto& part : parts) module.graphs.push_back(std::move(part));
}

/// Adds the graph of the inputs that all parts share.
void add_batch_graph(Module& module, const Graph& loss) {
  std::unique_ptr<Graph> batch = loss.clone_into(module, std::string(kBatchEntry));
  llvm::erase_if(batch->outputs, [](const Graph::Output& output) { return output.name != kTokenCount; });
  batch->prune();
  module.graphs.push_back(std::move(batch));
}

}  // namespace

bool cut_stages(Module& module, const CutStagesOptions& options) {
  const Graph* loss = module.find_graph(options.loss);
  if (!loss) fail("cut_stages: there is no graph @{}", options.loss);
  const PartEnds ends =
      choose_part_ends(*loss, options.parts(), {rates_of(options.target), options.storage, options.tf32});
  ParameterStages stages;
  add_batch_graph(module, *loss);
  cut_graph(module, options.loss, ends, options, stages);
  for (const std::string& other : options.others) cut_graph(module, other, ends, options, stages);
  keep_parameters(module, stages, options.stage);
  module.stage = options.stage;
  return true;
}

std::string part_name(std::string_view graph, int64_t part) { return fmt::format("{}.{}", graph, part); }

std::optional<int64_t> part_number(std::string_view name, std::string_view graph) {
  if (!name.starts_with(graph) || name.substr(graph.size(), 1) != ".") return {};
  const std::string_view digits = name.substr(graph.size() + 1);
  int64_t part = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), part);
  if (error != std::errc{} || end != digits.data() + digits.size() || part < 0) return {};
  return part;
}

std::string values_name(int64_t part, size_t number) { return fmt::format("values.{}.{}", part, number); }
std::string gradients_name(int64_t part, size_t number) {
  return fmt::format("gradients.{}.{}", part, number);
}

}  // namespace smelt
