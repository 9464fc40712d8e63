#include "runtime/engine/generation/cache_bounds.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/engine/generation/prompt_lengths.h"
#include "runtime/plan/device_kind.h"

namespace smelt {
namespace {

/// The symbol that a length of an input is.
std::string symbol_of(const PlanEntry& entry, const Dim& length) {
  std::vector<std::string> names;
  length.collect_symbols(names);
  if (names.size() != 1 || Dim::symbol(names[0]) != length)
    fail("entry '{}': its input '{}' has rows of {} tokens; expected a symbol", entry.name,
         entry.inputs[0].name, length.str());
  return names[0];
}

const Dim& dim_of_input(const PlanEntry& entry, size_t input, size_t axis) {
  if (entry.inputs.size() <= input || entry.inputs[input].shape.size() <= axis)
    fail("entry '{}': its input {} is missing or has no dimension {}; expected an entry over caches",
         entry.name, input, axis);
  return entry.inputs[input].shape[axis];
}

/// Places of the shortest caches of keys and values, [slots,places,heads,width].
size_t shortest_cache(const Plan& plan, size_t capacity) {
  size_t shortest = capacity;
  for (const State& state : plan.states)
    if (state.role == Role::cache && state.shape.size() == 4)
      shortest = std::min(shortest, static_cast<size_t>(plan.symbols.upper(state.shape[1])));
  return shortest;
}

}  // namespace

CacheBounds::CacheBounds(const Session& session)
    : symbols_(session.plan().symbols), pads_(device_kind(session.plan().target).captures_runs) {
  const PlanEntry &decode = session.entry("decode"), &reorder = session.entry("reorder");
  const Dim &length = dim_of_input(decode, 0, 1), &places = dim_of_input(reorder, 2, 0);
  run_symbol_ = symbol_of(decode, length);
  run_ = static_cast<size_t>(symbols_.upper(length));
  capacity_ = static_cast<size_t>(symbols_.upper(places));
  if (length != places) ring_ = shortest_cache(session.plan(), capacity_);
}

size_t CacheBounds::longest_run(size_t rows) const {
  const SymbolValues others = {{"B", static_cast<int64_t>(rows)}};
  return std::max<size_t>(1, most_beside(symbols_, run_symbol_, others));
}

size_t CacheBounds::run_length(size_t tokens, size_t rows) const {
  if (!pads_ || tokens == 1) return tokens;
  return padded_length(tokens, longest_run(rows), capacity_);
}

/// A token that has left its position in a ring is outside the windows of a run's tokens, which come after
/// it.
bool CacheBounds::holds(size_t length, size_t furthest) const {
  return ring_ == 0 || furthest <= ring_ || length + run_ > furthest;
}

}  // namespace smelt
