#include "ir/state_reads.h"

#include "ir/view.h"

namespace smelt {
namespace {

bool is_view_in_place(const Node& node, int buffer) {
  if (!info(node.op()).has(Trait::view) || node.is(Op::pack)) return false;
  return node.result()->layout && node.result()->layout->buffer == buffer;
}

void collect(const Value& value, std::vector<StateRead>& reads) {
  for (const Node* user : value.users()) {
    const bool looks = is_view_in_place(*user, value.layout->buffer);
    if (!looks || user->is(Op::concat)) reads.push_back({user, &value});
    if (looks) collect(*user->result(), reads);
  }
}

}  // namespace

std::vector<StateRead> reads_of_state(const Graph& graph, int buffer) {
  std::vector<StateRead> reads;
  for (const auto& node : graph.nodes()) {
    const bool leaf = node->is(Op::parameter) || node->is(Op::state);
    if (leaf && node->result()->layout && node->result()->layout->buffer == buffer)
      collect(*node->result(), reads);
  }
  return reads;
}

bool may_overlap(const Layout& a, const Shape& a_shape, const Layout& b, const Shape& b_shape) {
  if (a.buffer != b.buffer) return false;
  const auto a_begin = a.offset.constant(), a_length = reach(a, a_shape).constant();
  const auto b_begin = b.offset.constant(), b_length = reach(b, b_shape).constant();
  if (!a_begin || !a_length || !b_begin || !b_length) return true;
  return *a_begin < *b_begin + *b_length && *b_begin < *a_begin + *a_length;
}

}  // namespace smelt
