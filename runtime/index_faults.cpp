#include "runtime/index_faults.h"

#include "runtime/error.h"

namespace smelt {

std::vector<int> index_fault_states(const Plan& plan) {
  std::vector<int> found;
  for (size_t i = 0; i < plan.states.size(); ++i) {
    const State& state = plan.states[i];
    const bool fits = state.dtype == DType::i32 && state.shape == Shape{Dim(3)};
    const bool named =
        state.name.starts_with(kIndexFaultPrefix) || state.name.starts_with(kDroppedIndexPrefix);
    if (fits && named) found.push_back(static_cast<int>(i));
  }
  return found;
}

void check_index_fault(const State& state, const IndexFault& numbers) {
  const auto [lowest, highest, last] = numbers;
  if (lowest == 0 && highest == 0) return;
  const bool dropped = state.name.starts_with(kDroppedIndexPrefix);
  fail("{}: the index {} is out of bounds: expected 0 to {}; {}, so results are wrong",
       state.name.substr((dropped ? kDroppedIndexPrefix : kIndexFaultPrefix).size()),
       lowest != 0 ? lowest : highest, last, dropped ? "it was left out" : "the nearest row was taken");
}

}  // namespace smelt
