#include "runtime/session/index_faults.h"

#include <fmt/ranges.h>

#include "runtime/base/error.h"

namespace smelt {

std::vector<int> index_fault_states(const Plan& plan) {
  std::vector<int> found;
  for (size_t i = 0; i < plan.states.size(); ++i)
    if (plan.states[i].role == Role::fault) found.push_back(static_cast<int>(i));
  return found;
}

void IndexFaults::add(const State& state, const IndexFault& numbers) {
  const auto [lowest, highest, last] = numbers;
  if (lowest == 0 && highest == 0) return;
  const bool dropped = state.name.starts_with(kDroppedIndexPrefix);
  std::string_view place = state.name;
  if (dropped || place.starts_with(kIndexFaultPrefix))
    place.remove_prefix((dropped ? kDroppedIndexPrefix : kIndexFaultPrefix).size());
  problems_.push_back(fmt::format("{}: the index {} is out of bounds: expected 0 to {}; {}", place,
                                  lowest != 0 ? lowest : highest, last,
                                  dropped ? "it was left out" : "the nearest row was taken"));
}

void IndexFaults::check() const {
  if (!problems_.empty()) fail("{}, so results are wrong", fmt::join(problems_, "; "));
}

}  // namespace smelt
