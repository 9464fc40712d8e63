#include "ir/analysis/state_reads.h"

#include <algorithm>
#include <limits>

#include "ir/analysis/view.h"

namespace smelt {
namespace {

bool looks_at_memory(const Node& node) { return info(node.op()).has(Trait::view) && !node.is(Op::pack); }

void collect(const Value& value, std::vector<StateRead>& reads) {
  for (const Node* user : value.users()) {
    const bool in_place = looks_at_memory(*user) && user->result()->layout &&
                          user->result()->layout->buffer == value.layout->buffer;
    if (!user->is(Op::update) && (!in_place || user->is(Op::concat)))
      reads.push_back({user, &value, region_of(*value.layout, value.shape())});
    if (in_place) collect(*user->result(), reads);
  }
}

bool is_written(const Graph& graph, int buffer) {
  const auto writes = [&](const Node& update) {
    const int state = graph.module().buffers[static_cast<size_t>(buffer)].state;
    return state >= 0 && update.get(attr::state) == graph.module().states[static_cast<size_t>(state)].name;
  };
  return std::ranges::any_of(graph.nodes(),
                             [&](const auto& node) { return node->is(Op::update) && writes(*node); });
}

}  // namespace

Region region_of(const Layout& layout, const Shape& shape) {
  const auto begin = layout.offset.constant(), length = reach(layout, shape).constant();
  if (!begin || !length) return {0, std::numeric_limits<int64_t>::max()};
  return {*begin, *begin + *length};
}

std::vector<StateRead> reads_of_state(const Graph& graph, int buffer) {
  std::vector<StateRead> reads;
  for (const auto& node : graph.nodes()) {
    const bool leaf = node->is(Op::parameter) || node->is(Op::state);
    if (leaf && node->result()->layout && node->result()->layout->buffer == buffer)
      collect(*node->result(), reads);
  }
  return reads;
}

bool is_old_content(const Value& value) {
  const Value* behind = &value;
  while (looks_at_memory(*behind->node())) {
    const Value* operand = behind->node()->operand(0);
    if (!behind->layout || !operand->layout || behind->layout->buffer != operand->layout->buffer)
      return false;
    behind = operand;
  }
  return behind->node()->is(Op::state) || behind->node()->is(Op::parameter);
}

bool moves_content(const Graph& graph, const Node& update) {
  const Value& value = *update.operand(0);
  if (!value.layout || !is_old_content(value)) return false;
  const Buffer& from = graph.module().buffers[static_cast<size_t>(value.layout->buffer)];
  if (from.state < 0) return false;  // a view that was copied
  const bool own = graph.module().states[static_cast<size_t>(from.state)].name == update.get(attr::state);
  const bool stays = own && value.layout->offset.is_zero() && is_dense(value.shape(), value.layout->strides);
  return !stays && is_written(graph, value.layout->buffer);
}

}  // namespace smelt
