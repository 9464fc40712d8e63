#include "frontend/blocks/adapter_slots.h"

#include <fmt/ranges.h>

#include "frontend/blocks/blocks.h"
#include "frontend/blocks/token_choice.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/error.h"
#include "runtime/plan/adapter_interface.h"

namespace smelt {
namespace {

std::string without_weight(llvm::StringRef name) {
  name.consume_back(".weight");
  return name.str();
}

bool is_in_block(const Place& place) { return place.role.find("{}") != std::string::npos; }

/// Returns the matrix of each row's slot, f32[B,...].
Value* of_slots(BlockBuilder& b, const std::string& state, Shape shape) {
  declare_state(b, state, Role::state, b.cache_type, std::move(shape));
  Value* slot = within(b.graph, b.adapter_of_row, b.adapter_slots->count());
  return b.graph.convert(b.graph.gather(b.graph.state(state), slot), DType::f32);
}

/// Returns the sums over the last dim of products: of x [B,T,n] and m [B,...,n], [B,T,...].
Value* products(GraphBuilder& g, Value* x, Value* m) {
  const auto more = static_cast<int64_t>(m->shape().size()) - 2, last = 2 + more;
  Shape shape = {x->shape()[0], x->shape()[1]};
  shape.insert(shape.end(), m->shape().begin() + 1, m->shape().end());
  std::vector<int64_t> axes = {0};
  for (int64_t axis = 2; axis <= last; ++axis) axes.push_back(axis);
  return g.sum(g.mul(g.broadcast(x, {0, 1, last}, shape), g.broadcast(m, axes, shape)), {last});
}

}  // namespace

AdapterSlots::AdapterSlots(int64_t count, int64_t rank, const std::vector<std::string>& targets)
    : count_(count), rank_(rank) {
  config_.targets = targets;
  config_.all_linear = targets.empty();
}

bool AdapterSlots::adapts(const ParameterName& name) {
  const std::string module = without_weight(name.name);
  linears_.insert(module);
  if (!LoraTargets(config_).adapts(module, false)) return false;
  std::vector<std::string>& names = adapted_[module];
  names.clear();
  for (const std::string& each : name.checkpoint_names) names.push_back(without_weight(each));
  return true;
}

Json AdapterSlots::description() const {
  std::vector<std::string> missing;
  for (const std::string& target : config_.targets) {
    LoraConfig one;
    one.targets = {target};
    const auto fits = [&](const auto& adapted) { return LoraTargets(one).adapts(adapted.first, false); };
    if (llvm::none_of(adapted_, fits)) missing.push_back(target);
  }
  std::set<std::string> ends;
  for (llvm::StringRef name : linears_) ends.insert(name.substr(name.rfind('.') + 1).str());
  if (!missing.empty())
    fail("adapter targets: {} are no linear maps of the blocks; there are {}", fmt::join(missing, ", "),
         fmt::join(ends, ", "));
  Json modules = Json::object();
  for (const auto& [module, names] : adapted_) modules[module] = names;
  return {{"slots", count_}, {"rank", rank_}, {"modules", std::move(modules)}};
}

Value* with_adapter_slots(BlockBuilder& b, const Place& place, Value* x, Value* y, int64_t count) {
  if (!b.adapter_slots || !b.adapter_of_row || !is_in_block(place)) return y;
  const ParameterName name = b.names.parameter(place, "weight");
  if (!b.adapter_slots->adapts(name)) return y;
  GraphBuilder& g = b.graph;
  const std::string module = without_weight(name.name);
  const int64_t slots = b.adapter_slots->count(), rank = b.adapter_slots->rank();
  b.at(place, "adapters");
  Shape outputs = {slots, y->shape().back(), rank};
  if (count > 0) outputs.insert(outputs.begin() + 1, count);
  Value* low = products(g, x, of_slots(b, adapter_state_a(module), {slots, rank, x->shape().back()}));
  Value* addend = products(g, low, of_slots(b, adapter_state_b(module), std::move(outputs)));
  Value* has_none = g.lt(b.adapter_of_row, g.like(b.adapter_of_row, 0));
  return g.select(g.broadcast(has_none, {0}, y->shape()), y, g.add(y, addend));
}

}  // namespace smelt
