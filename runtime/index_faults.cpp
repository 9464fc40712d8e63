#include "runtime/index_faults.h"

#include "runtime/error.h"

namespace smelt {

std::vector<int> index_fault_states(const Plan& plan) {
  std::vector<int> found;
  for (size_t i = 0; i < plan.states.size(); ++i) {
    const State& state = plan.states[i];
    const bool fits = state.dtype == DType::i32 && state.shape == Shape{Dim(3)};
    if (fits && state.name.starts_with(kIndexFaultPrefix)) found.push_back(static_cast<int>(i));
  }
  return found;
}

void check_index_fault(const State& state, const IndexFault& numbers) {
  const auto [lowest, highest, last] = numbers;
  if (lowest == 0 && highest == 0) return;
  fail("{}: the index {} is out of bounds: expected 0 to {}; the nearest row was taken, so results are wrong",
       state.name.substr(kIndexFaultPrefix.size()), lowest != 0 ? lowest : highest, last);
}

}  // namespace smelt
