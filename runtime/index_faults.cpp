#include "runtime/index_faults.h"

#include <fmt/ranges.h>

#include "runtime/error.h"

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
  std::string_view place = state.name;
  if (place.starts_with(kIndexFaultPrefix)) place.remove_prefix(kIndexFaultPrefix.size());
  problems_.push_back(fmt::format("{}: the index {} is out of bounds: expected 0 to {}", place,
                                  lowest != 0 ? lowest : highest, last));
}

void IndexFaults::check() const {
  if (!problems_.empty())
    fail("{}; the nearest row was taken, so results are wrong", fmt::join(problems_, "; "));
}

}  // namespace smelt
