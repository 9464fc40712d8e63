#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/structured/automaton.h"
#include "runtime/structured/state_builder.h"
#include "runtime/structured/state_facts.h"

namespace smelt::structured {
namespace {

State packed_state(const RawState& raw, uint32_t need, Automaton& result) {
  State state;
  state.kind = raw.kind, state.index = raw.index, state.to = raw.to, state.rule = raw.rule, state.need = need;
  state.first_byte_edge = static_cast<uint32_t>(result.byte_edges.size());
  state.byte_edges = static_cast<uint32_t>(raw.bytes.size());
  state.first_empty_edge = static_cast<uint32_t>(result.empty_edges.size());
  state.empty_edges = static_cast<uint32_t>(raw.empties.size());
  result.byte_edges.insert(result.byte_edges.end(), raw.bytes.begin(), raw.bytes.end());
  result.empty_edges.insert(result.empty_edges.end(), raw.empties.begin(), raw.empties.end());
  return state;
}

void divide_bytes(Automaton& result) {
  std::bitset<257> begins;
  for (const ByteEdge& edge : result.byte_edges) begins.set(edge.first), begins.set(edge.last + 1u);
  uint8_t number = 0;
  for (uint32_t b = 0; b < 256; ++b) {
    if (b > 0 && begins[b]) ++number;
    result.byte_class[b] = number;
  }
  result.byte_classes = number + 1u;
}

}  // namespace

std::shared_ptr<const Automaton> compile(const Grammar& grammar) {
  RawAutomaton raw = build_states(grammar);
  const StateFacts before = facts_of(raw);
  if (before.need[raw.rules[0].start] == kNoEnd)
    fail(
        "structured output: no text satisfies the grammar or schema; expected one that at least one text "
        "satisfies");
  remove_dead_edges(raw, before);
  const StateFacts facts = facts_of(raw);

  auto result = std::make_shared<Automaton>();
  for (uint32_t s = 0; s < raw.states.size(); ++s)
    result->states.push_back(packed_state(raw.states[s], facts.need[s], *result));
  result->loops = raw.loops;
  const std::vector<ByteSet> follow = follow_sets(raw, facts);
  for (uint32_t r = 0; r < raw.rules.size(); ++r)
    result->rules.push_back({raw.rules[r].name, raw.rules[r].start, follow[r]});
  for (const uint32_t need : facts.need)
    if (need != kNoEnd) result->largest_need = std::max(result->largest_need, need);
  refuse_left_recursion(raw, facts);
  divide_bytes(*result);
  return result;
}

}  // namespace smelt::structured
