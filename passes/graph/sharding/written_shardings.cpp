#include "passes/graph/sharding/written_shardings.h"

#include <fmt/ranges.h>

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"
#include "runtime/plan/segment_parts.h"

namespace smelt {
namespace {

const State& state_named(const Module& module, const std::string& name) {
  for (const State& state : module.states)
    if (state.name == name) return state;
  fail("state \"{}\" is not declared", name);
}

Sharding uncut(int64_t rank) { return {std::vector<std::vector<size_t>>(static_cast<size_t>(rank)), {}}; }

}  // namespace

Sharding sharding_of_state(const Node& node) {
  const Module& module = node.graph().module();
  return sharding_of(state_named(module, node.get(node.is(Op::update) ? attr::state : attr::name)),
                     module.mesh());
}

Sharding sharding_of_segment(const Node& pack, unsigned i) {
  const Module& module = pack.graph().module();
  const Segment& segment = state_named(module, pack.get(attr::state)).segments[i];
  if (!is_cut(segment)) return uncut(pack.operand(i)->rank());
  if (pack.operand(i)->shape().size() != segment.shape.size())
    fail("{}: operand {} is {}, and ranks share segment \"{}\" as [{}]", pack.describe(), i,
         str(pack.operand(i)->type), segment.name, fmt::join(segment.whole, ","));
  return {axes_of(segment, module.mesh()), {}};
}

std::optional<Sharding> written_sharding(const Value& value) {
  const Node& node = *value.node();
  if (node.is(Op::state)) return sharding_of_state(node);
  if (!node.is(Op::parameter)) return value.sharding;
  for (const Module::Parameter& parameter : node.graph().module().parameters)
    if (parameter.name == node.get(attr::name) && parameter.sharding) return parameter.sharding;
  return uncut(value.rank());
}

void require_fitting_shardings(const Graph& graph) {
  const Module& module = graph.module();
  std::vector<std::string> problems;
  const auto check = [&](const std::string& what, const Sharding& sharding, const Shape& shape) {
    for (const std::string& fault : faults(sharding, module.mesh(), shape))
      problems.push_back(fmt::format("{}: {}", what, fault));
  };
  for (const State& state : module.states)
    check(fmt::format("state \"{}\"", state.name), sharding_of(state, module.mesh()), state.shape);
  for (const Module::Parameter& parameter : module.parameters)
    if (parameter.sharding)
      check(fmt::format("parameter \"{}\"", parameter.name), *parameter.sharding, parameter.type.shape);
  for (const auto& node : graph.nodes())
    for (const auto& result : node->results())
      if (result->sharding)
        check(fmt::format("@{}: {}", graph.name, node->describe()), *result->sharding, result->shape());
  if (problems.empty()) return;
  fail("the mesh {{{}}} does not fit the model:\n{}", str(module.mesh()), fmt::join(problems, "\n"));
}

}  // namespace smelt
