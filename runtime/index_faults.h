// The record that a run leaves where an index was out of bounds, so that it ends with an Error although the
// kernel continued with the nearest row. A plan's compiler keeps one state of Role::fault for every index that
// it could not prove.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// The prefix of such a state's name, which is followed by the place of the index; the state holds three i32
/// numbers.
inline constexpr std::string_view kIndexFaultPrefix = "index_fault/";
/// The lowest index below 0 (0: none was), the highest that was too large (0: none was), and the last row.
using IndexFault = std::array<int32_t, 3>;

/// Indices into Plan::states.
std::vector<int> index_fault_states(const Plan& plan);

/// What the states of a plan say after a run, for one Error that names them all.
class IndexFaults {
 public:
  void add(const State& state, const IndexFault& numbers);
  /// Throws Error with every place, an index and the rows there are; nothing where no index was out of
  /// bounds.
  void check() const;

 private:
  std::vector<std::string> problems_;
};

}  // namespace smelt
