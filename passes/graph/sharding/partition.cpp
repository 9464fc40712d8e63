#include "passes/graph/sharding/partition.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ir/graph/insertion.h"
#include "ir/graph/verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "passes/graph/sharding/assign_nodes.h"
#include "passes/graph/sharding/gathered_segments.h"
#include "passes/graph/sharding/local_nodes.h"
#include "passes/graph/sharding/sums.h"
#include "passes/graph/sharding/written_shardings.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Returns the sharding of the whole graph's value, as written or derived.
Sharding sharding_of_whole(const Value& value) {
  if (value.node()->is(Op::state) && value.sharding) return *value.sharding;
  return written_sharding(value).value_or(replicated(value.rank()));
}

/// Known shardings of a node's operands and results.
class WrittenShardings {
 public:
  explicit WrittenShardings(const Node& node) {
    all_.reserve(node.operands().size() + node.result_count());
    for (const Value* operand : node.operands())
      known_.operands.push_back(&all_.emplace_back(sharding_of_whole(*operand)));
    for (const auto& result : node.results())
      known_.results.push_back(&all_.emplace_back(sharding_of_whole(*result)));
  }
  const KnownShardings& known() const { return known_; }

 private:
  std::vector<Sharding> all_;
  KnownShardings known_;
};

Assignments assignments_of(const Graph& graph) {
  std::map<const Node*, WrittenShardings> written;
  for (const auto& node : graph.nodes()) written.try_emplace(node.get(), *node);
  return assign_nodes(graph, [&](const Node& node) { return written.find(&node)->second.known(); });
}

/// Ranks that cut a state write into it what no index moves.
void check_update_at(const Node& node, const Sharding& state) {
  const Mesh& mesh = node.graph().module().mesh();
  const State& declared = *node.graph().module().find_state(node.get(attr::state));
  size_t leading = 0;
  for (unsigned i = 1; i < node.operands().size(); ++i)
    leading = std::max(leading, node.operand(i)->shape().size());
  for (size_t d = 0; d < state.dims.size(); ++d) {
    const bool moves = llvm::any_of(indexed_axes(node), [&](const IndexedAxis& indexed) {
      return indexed.axis == static_cast<int64_t>(d);
    });
    const bool is_whole = d >= leading && !moves && node.operand(0)->shape()[d] == declared.shape[d];
    if (!state.dims[d].empty() && !is_whole)
      fail("{}: state \"{}\" on {} is cut along dim {}, of which a part is written; cut another dim",
           node.describe(), declared.name, str(state, mesh), d);
  }
  if (!state.partial.empty())
    fail("{}: a part of state \"{}\" is written, and it is partial", node.describe(), declared.name);
}

class GraphPartition {
 public:
  GraphPartition(const Graph& graph, const Assignments& assignments, const LocalSizes& sizes,
                 const std::vector<size_t>& batch, const PartitionOptions& options)
      : graph_(graph),
        assignments_(assignments),
        sizes_(sizes),
        batch_(batch),
        addends_(options.addends),
        whole_outputs_(options.whole_outputs),
        made_(std::make_unique<Graph>(graph.module(), graph.name)),
        b_(*made_),
        resharder_(b_, options.log),
        segments_(b_, resharder_, sizes) {}

  std::unique_ptr<Graph> run() {
    for (const auto& node : graph_.nodes()) {
      const Node* before = made_->previous(nullptr);
      b_.set_source(node->source);
      resharder_.set_phase(node->phase);
      convert(*node);
      mark(*node, before);
    }
    for (const Graph::Output& output : graph_.outputs) {
      const Node* before = made_->previous(nullptr);
      const Value* value = placed_.find(output.value)->second;
      b_.set_source(output.value->node()->source);
      resharder_.set_phase(output.value->node()->phase);
      made_->outputs.push_back({output.name, finished(*value, output.name)});
      mark(*output.value->node(), before);
    }
    return std::move(made_);
  }

 private:
  void convert(const Node& node) {
    if (node.is(Op::update)) return update(node);
    if (is_declared(node)) return leaf(node);
    const Assignment& made = assignments_.find(&node)->second;
    llvm::SmallVector<Value*, 4> operands;
    for (unsigned i = 0; i < node.operands().size(); ++i)
      operands.push_back(operand(node, i, needed(node, made, i)));
    const std::vector<Value*> results = build_local({node, made, operands, sizes_, b_, resharder_, batch_});
    for (unsigned i = 0; i < node.result_count(); ++i)
      settle(*node.result(i), results[i], natural(node, made, i));
  }

  static bool is_declared(const Node& node) {
    return node.is(Op::input) || node.is(Op::parameter) || node.is(Op::state);
  }

  void leaf(const Node& node) {
    if (const State* flat = cut_flat_state(node))
      return settle(*node.result(), segments_.value(node, *flat, node.phase),
                    sharding_of_whole(*node.result()));
    const Sharding lies = node.is(Op::state) ? sharding_of_state(node) : sharding_of_whole(*node.result());
    Node* copy = made_->clone(node, {});
    sizes_.rewrite_attributes(*copy);
    copy->result()->type.shape = sizes_.part(node.result()->shape(), lies);
    settle(*node.result(), copy->result(), lies);
  }

  // ---- operands

  /// As the assignment says, and with the unfinished sums that the node passes on.
  Sharding needed(const Node& node, const Assignment& made, unsigned i) const {
    Sharding needed = node.is(Op::pack) ? sharding_of_segment(node, i) : made.operand(i);
    if (node.is(Op::scatter_add) && i == 0) needed.partial = made.result(0).partial;
    for (const size_t axis : passed(node, made))
      if (is_partial(*node.operand(i), axis)) needed.partial.push_back(axis);
    return needed;
  }

  Sharding natural(const Node& node, const Assignment& made, unsigned i) const {
    Sharding natural = made.result(i);
    llvm::append_range(natural.partial, passed(node, made));
    return natural;
  }

  bool is_partial(const Value& value, size_t axis) const {
    return llvm::is_contained(placed_.find(&value)->second->sharding->partial, axis);
  }

  std::vector<size_t> passed(const Node& node, const Assignment& made) const {
    std::vector<size_t> axes;
    for (size_t axis = 0; axis < graph_.module().mesh().axes.size(); ++axis)
      if (!made.uses(axis) &&
          passes_partial(node, [&](unsigned i) { return is_partial(*node.operand(i), axis); }))
        axes.push_back(axis);
    return axes;
  }

  /// Returns the value that a user in this phase reads.
  Value* placed(const Value& whole, Phase phase) {
    const State* flat = cut_flat_state(*whole.node());
    if (!flat) return placed_.find(&whole)->second;
    Value* value = segments_.value(*whole.node(), *flat, phase);
    value->sharding = sharding_of_whole(whole);
    return value;
  }

  Value* operand(const Node& node, unsigned i, const Sharding& needed) {
    Value* value = placed(*node.operand(i), node.phase);
    return resharder_.move(value, *value->sharding, needed, node.describe());
  }

  // ---- results

  void settle(const Value& whole, Value* value, const Sharding& lies) {
    const Sharding wanted = sharding_of_whole(whole);
    value->sharding = lies;
    value->name.clear();
    value = resharder_.move(value, lies, wanted, whole.node()->describe());
    value->sharding = wanted;
    value->name = whole.name;
    placed_[&whole] = value;
  }

  Value* finished(const Value& value, const std::string& name) {
    Sharding wanted = *value.sharding;
    if (!llvm::is_contained(addends_, graph_.name + "." + name)) wanted.partial.clear();
    if (whole_outputs_)
      for (std::vector<size_t>& axes : wanted.dims)
        llvm::erase_if(axes, [&](size_t axis) { return !llvm::is_contained(batch_, axis); });
    Value* result = resharder_.move(const_cast<Value*>(&value), *value.sharding, wanted, "output " + name);
    result->sharding = wanted;
    return result;
  }

  void update(const Node& node) {
    llvm::SmallVector<Value*, 4> operands;
    for (unsigned i = 0; i < node.operands().size(); ++i)
      operands.push_back(operand(node, i, written(node, i)));
    sizes_.rewrite_attributes(*made_->clone(node, operands));
  }

  /// Operand i of an update: of the value, the part that the rank's part of the state takes.
  static Sharding written(const Node& node, unsigned i) {
    if (i > 0) return replicated(node.operand(i)->rank());
    Sharding state = sharding_of_state(node);
    if (node.operands().size() > 1) check_update_at(node, state);
    return state;
  }

  /// Everything made for a node is of its phase.
  void mark(const Node& node, const Node* before) {
    for (Node* made = before ? made_->next(before) : first(); made; made = made_->next(made)) {
      made->phase = node.phase;
      made->anchored = node.anchored && !made->is(Op::collective);
    }
  }

  Node* first() const { return made_->nodes().empty() ? nullptr : made_->nodes().front().get(); }

  const Graph& graph_;
  const Assignments& assignments_;
  const LocalSizes& sizes_;
  const std::vector<size_t>& batch_;
  const std::vector<std::string>& addends_;
  const bool whole_outputs_;
  std::unique_ptr<Graph> made_;
  GraphBuilder b_;
  Resharder resharder_;
  llvm::DenseMap<const Value*, Value*> placed_;
  GatheredSegments segments_;
};

bool is_part(const Segment& segment, const Module::Parameter& parameter, const LocalSizes& sizes) {
  const Shape shape(segment.shape.begin(), segment.shape.end());
  return shape ==
         (parameter.sharding ? sizes.part(parameter.type.shape, *parameter.sharding) : parameter.type.shape);
}

/// Flat states have places for parts of parameters, or for whole ones.
void check_segments(const Module& module, const LocalSizes& sizes) {
  std::vector<std::string> others;
  for (const Module::Parameter& parameter : module.parameters) {
    const State* flat = module.state_of_parameter(parameter.name);
    if (flat && !is_part(*find_segment(*flat, parameter.name), parameter, sizes))
      others.push_back(fmt::format("{} in \"{}\"", parameter.name, flat->name));
  }
  if (others.empty()) return;
  fail(
      "partition: how ranks share a parameter is said before flatten_parameters, and these are otherwise in "
      "their flat states: {}",
      fmt::join(others, ", "));
}

/// Declarations become those of one rank's parts.
void cut_declarations(Module& module, const LocalSizes& sizes) {
  for (Module::Parameter& parameter : module.parameters)
    if (parameter.sharding) parameter.type.shape = sizes.part(parameter.type.shape, *parameter.sharding);
  for (State& state : module.states) {
    const Shape local = sizes.part(state.shape, sharding_of(state, module.mesh()));
    if (!state.cut.empty())
      for (const Dim& dim : state.shape) state.whole.push_back(sizes.whole(dim));
    state.shape = local;
  }
}

/// Bounds were those of the whole where other axes than the batch's cut a symbol.
Symbols bounds_of_parts(const Module& module, const SymbolCuts& cuts, const std::vector<size_t>& batch) {
  Symbols symbols;
  for (const Symbols::Bound& bound : module.symbols.bounds()) {
    int64_t parts = 1;
    for (const std::string& symbol : bound.factors)
      if (const auto cut = cuts.find(symbol); cut != cuts.end())
        for (const size_t axis : cut->second)
          if (!llvm::is_contained(batch, axis)) parts *= module.mesh().axes[axis].size;
    if (parts > 1 && bound.upper < parts)
      fail("partition: {} is at most {}, and {} ranks have parts of it: give a larger bound",
           fmt::join(bound.factors, "*"), bound.upper, parts);
    symbols.bound(bound.factors, bound.upper / parts, (bound.lower + parts - 1) / parts);
  }
  return symbols;
}

std::vector<size_t> batch_axes(const Mesh& mesh, const std::vector<std::string>& names) {
  std::vector<size_t> axes;
  for (const std::string& name : names)
    if (const auto axis = mesh.find(name)) axes.push_back(*axis);
  return axes;
}

}  // namespace

bool partition(Module& module, const PartitionOptions& options) {
  if (module.mesh().empty() || module.partitioned) return false;
  for (const auto& graph : module.graphs) require_fitting_shardings(*graph);
  std::vector<Assignments> assignments;
  SymbolCutter cutter(module);
  for (const auto& graph : module.graphs)
    cutter.add(*graph, assignments.emplace_back(assignments_of(*graph)));
  const SymbolCuts cuts = cutter.finish();
  const LocalSizes sizes(module.mesh(), cuts);
  check_segments(module, sizes);
  const std::vector<size_t> batch = batch_axes(module.mesh(), options.batch);
  for (size_t i = 0; i < module.graphs.size(); ++i)
    module.graphs[i] = GraphPartition(*module.graphs[i], assignments[i], sizes, batch, options).run();
  cut_declarations(module, sizes);
  module.symbols = bounds_of_parts(module, cuts, batch);
  module.partitioned = cuts;
  verify_or_throw(module);
  return true;
}

std::string explain(const std::vector<CollectiveEntry>& entries) {
  std::string lines;
  for (const CollectiveEntry& e : entries)
    lines += fmt::format("@{} {} {} {} {:.0f} bytes: \"{}\"{}{}\n", e.graph, e.kind, e.axis, e.type, e.bytes,
                         e.source, e.because.empty() ? "" : ", for ", e.because);
  return lines;
}

}  // namespace smelt
