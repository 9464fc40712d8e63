// Records of indices out of bounds, which make a run end with an Error although its kernel continued with the
// nearest row, or without the row. The compiler adds one state of Role::fault for every index that it could
// not prove.
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
/// The prefix for an index whose row was left out.
inline constexpr std::string_view kDroppedIndexPrefix = "dropped_index/";
/// The lowest index below 0 (0: none was), the highest that was too large (0: none was), and the last row.
using IndexFault = std::array<int32_t, 3>;

/// Returns indices into Plan::states.
std::vector<int> index_fault_states(const Plan& plan);

/// Collects the faults that a plan's states record after a run, for one Error that names them all.
class IndexFaults {
 public:
  void add(const State& state, const IndexFault& numbers);
  /// Throws Error with every place, an index and the number of rows, if any index was out of bounds.
  void check() const;

 private:
  std::vector<std::string> problems_;
};

}  // namespace smelt
