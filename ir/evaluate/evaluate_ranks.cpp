#include "ir/evaluate/evaluate_ranks.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "ir/evaluate/graph_run.h"

namespace smelt {
namespace {

using namespace evaluation;
using Numbers = Array<double>;

// ---- collectives, over the operands of one group of ranks in order

/// Block `part` of `parts` along a dim.
Numbers block(const Numbers& x, size_t dim, int64_t part, int64_t parts) {
  const Sizes strides = row_major_strides(x.shape);
  Numbers result{x.shape, {}};
  result.shape[dim] /= parts;
  for (const int64_t place : offsets(result.shape, strides, part * result.shape[dim] * strides[dim]))
    result.data.push_back(x.data[static_cast<size_t>(place)]);
  return result;
}

Numbers behind_each_other(const std::vector<Numbers>& list, size_t dim) {
  const AxisView view(list[0].shape, static_cast<int64_t>(dim));
  const int64_t block = view.size * view.inner;
  Numbers result{list[0].shape, {}};
  result.shape[dim] *= static_cast<int64_t>(list.size());
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (const Numbers& x : list)
      result.data.insert(result.data.end(), x.data.begin() + outer * block,
                         x.data.begin() + (outer + 1) * block);
  return result;
}

double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

Numbers sum_of(const std::vector<Numbers>& list, bool maximum) {
  Numbers sum = list[0];
  for (size_t r = 1; r < list.size(); ++r)
    for (size_t i = 0; i < sum.data.size(); ++i)
      sum.data[i] = maximum ? larger(sum.data[i], list[r].data[i]) : sum.data[i] + list[r].data[i];
  return sum;
}

/// Returns the result of every rank of the group.
std::vector<Numbers> collect(const Node& node, const std::vector<Numbers>& list) {
  const std::string& kind = node.get(attr::kind);
  const auto count = static_cast<int64_t>(list.size());
  const auto dim = [&](AttributeName<int64_t> name) { return static_cast<size_t>(node.get(name)); };
  const bool maximum = node.has(attr::sum) && node.get(attr::sum) == "max";
  if (kind == "all_reduce") return std::vector<Numbers>(list.size(), sum_of(list, maximum));
  if (kind == "all_gather") return std::vector<Numbers>(list.size(), behind_each_other(list, dim(attr::dim)));
  std::vector<Numbers> results;
  const Numbers sum = kind == "reduce_scatter" ? sum_of(list, maximum) : Numbers{};
  for (int64_t i = 0; i < count; ++i) {
    if (kind == "reduce_scatter") {
      results.push_back(block(sum, dim(attr::dim), i, count));
      continue;
    }
    std::vector<Numbers> received;
    for (const Numbers& x : list) received.push_back(block(x, dim(attr::to), i, count));
    results.push_back(behind_each_other(received, dim(attr::dim)));
  }
  return results;
}

// ---- ranks

/// Inputs of one rank, and its run over them.
struct Rank {
  Tensors inputs, states;
  EvaluateOptions options;
  Arguments arguments{inputs, states, nullptr, options};
  std::unique_ptr<Run<double>> run;
};

class Ranks {
 public:
  Ranks(const Graph& graph, const Tensors& inputs, const Tensors& states, const EvaluateOptions& options)
      : graph_(graph), mesh_(graph.module().mesh()), inputs_(inputs), states_(states), options_(options) {
    if (mesh_.empty() || !graph.module().partitioned)
      fail("graph @{} runs on one rank: its module has no mesh, or was not partitioned", graph.name);
    for (int64_t rank = 0; rank < mesh_.ranks(); ++rank) ranks_.push_back(prepared(rank));
  }

  Evaluation run() {
    for (const auto& node : graph_.nodes())
      if (node->is(Op::collective))
        run_collective(*node);
      else
        for (const auto& rank : ranks_) rank->run->run(*node);
    return results();
  }

 private:
  // ---- before

  std::unique_ptr<Rank> prepared(int64_t number) const {
    auto rank = std::make_unique<Rank>();
    rank->options = options_;
    rank->options.symbols = symbols_of(number);
    rank->inputs = inputs_of(number);
    rank->states = states_of(number);
    rank->run = std::make_unique<Run<double>>(graph_, rank->arguments);
    return rank;
  }

  SymbolValues symbols_of(int64_t number) const {
    SymbolValues values = options_.symbols;
    for (const auto& [symbol, axes] : *graph_.module().partitioned) {
      const auto value = values.find(symbol);
      if (value == values.end()) fail("the symbol {} has no value", symbol);
      const int64_t parts = parts_of(mesh_, axes);
      if (value->second % parts != 0)
        fail("{} = {}: {} ranks do not divide it", symbol, value->second, parts);
      value->second /= parts;
    }
    const std::vector<int64_t> at = mesh_.coordinates(number);
    for (size_t axis = 0; axis < at.size(); ++axis) values[coordinate(mesh_.axes[axis])] = at[axis];
    return values;
  }

  Tensor part(const Tensor& whole, const Sharding& sharding, int64_t number, const std::string& what) const {
    try {
      return part_of(whole, sharding, mesh_, number);
    } catch (const Error& error) {
      fail("{}: {}", what, error.what());
    }
  }

  Tensors inputs_of(int64_t number) const {
    Tensors parts = inputs_;
    for (const Node* input : graph_.inputs()) {
      const std::string& name = input->get(attr::name);
      if (const auto& sharding = input->result()->sharding; sharding && parts.contains(name))
        parts[name] = part(parts[name], *sharding, number, "input " + name);
    }
    return parts;
  }

  Tensors states_of(int64_t number) const {
    const Module& module = graph_.module();
    Tensors parts = states_;
    for (const Module::Parameter& parameter : module.parameters)
      if (parameter.sharding && parts.contains(parameter.name))
        parts[parameter.name] = part(parts[parameter.name], *parameter.sharding, number, parameter.name);
    for (const State& state : module.states) {
      if (has_cut_segments(state)) {
        if (auto flat = flat_part(state, states_, mesh_, number)) parts[state.name] = std::move(*flat);
        continue;
      }
      const Sharding sharding = sharding_of(state, mesh_);
      if (sharding.is_replicated()) continue;
      if (const auto whole = whole_state(state))
        parts[state.name] = part(*whole, sharding, number, "state " + state.name);
    }
    return parts;
  }

  /// By its own name, or from its segments; nothing where neither is given.
  std::optional<Tensor> whole_state(const State& state) const {
    if (const Tensor* given = find(states_, state.name)) return *given;
    if (state.segments.empty()) return std::nullopt;
    const Shape& shape = state.whole.empty() ? state.shape : state.whole;
    Tensor flat{state.dtype, {}, {}};
    for (const Dim& dim : shape) flat.shape.push_back(dim.evaluate(options_.symbols));
    flat.data.resize(static_cast<size_t>(element_count(shape).evaluate(options_.symbols)));
    for (const Segment& segment : state.segments) {
      const Tensor* part = find(states_, segment.name);
      if (!part) return std::nullopt;
      std::copy(part->data.begin(), part->data.end(), flat.data.begin() + segment.offset);
    }
    return flat;
  }

  // ---- along the way

  void run_collective(const Node& node) {
    const size_t axis = *mesh_.find(mesh_axis(node).name);
    for (int64_t rank = 0; rank < mesh_.ranks(); ++rank) {
      const std::vector<int64_t> group = mesh_.group(rank, axis);
      if (group[0] != rank) continue;
      std::vector<Numbers> given;
      for (const int64_t member : group) given.push_back(run_of(member)[node.operand(0)]);
      std::vector<Numbers> taken = collect(node, given);
      for (size_t i = 0; i < group.size(); ++i) run_of(group[i]).set(node.result(), std::move(taken[i]));
    }
  }

  Run<double>& run_of(int64_t rank) const { return *ranks_[static_cast<size_t>(rank)]->run; }

  // ---- after

  Evaluation results() const {
    Evaluation whole;
    for (const Graph::Output& output : graph_.outputs) {
      const Sharding sharding = output.value->sharding.value_or(
          Sharding{std::vector<std::vector<size_t>>(output.value->shape().size()), {}});
      std::vector<Tensor> parts;
      for (const auto& rank : ranks_)
        parts.push_back(values_of((*rank->run)[output.value], output.value->dtype()));
      whole.outputs[output.name] = joined(parts, sharding, mesh_, "output " + output.name);
    }
    for (const auto& [name, written] : ranks_[0]->run->states()) add_whole(name, whole.states);
    return whole;
  }

  void add_whole(const std::string& name, Tensors& states) const {
    std::vector<Tensor> parts;
    for (const auto& rank : ranks_) {
      const auto& written = rank->run->states().at(name);
      parts.push_back(values_of(written.array, written.dtype));
    }
    const auto& declared = graph_.module().states;
    const auto state = std::ranges::find(declared, name, &State::name);
    if (state != declared.end() && has_cut_segments(*state))
      return states.merge(joined_segments(*state, parts, mesh_));
    Sharding sharding{std::vector<std::vector<size_t>>(parts[0].shape.size()), {}};
    if (state != declared.end()) sharding = sharding_of(*state, mesh_);
    states[name] = joined(parts, sharding, mesh_, "state " + name);
  }

  const Graph& graph_;
  const Mesh& mesh_;
  const Tensors& inputs_;
  const Tensors& states_;
  const EvaluateOptions& options_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace

Evaluation evaluate_ranks(const Graph& graph, const Tensors& inputs, const Tensors& states,
                          const EvaluateOptions& options) {
  return Ranks(graph, inputs, states, options).run();
}

}  // namespace smelt
