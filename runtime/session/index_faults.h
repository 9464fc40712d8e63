// Records of out-of-bounds indices. If a kernel reads or writes a row of a table by such an index, it uses
// the nearest row instead, or skips the access. It records the index in a state of Role::fault. The run then
// ends with an Error. The compiler (passes/graph/simplify/guard_indices.h) adds such a state for every index
// that it cannot prove to be in bounds.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Prefix of the name of a fault state. After the prefix, the name describes where the graph uses the index.
inline constexpr std::string_view kIndexFaultPrefix = "index_fault/";
/// The prefix if rows with an out-of-bounds index are skipped.
inline constexpr std::string_view kDroppedIndexPrefix = "dropped_index/";
/// Contents of a fault state: the lowest negative index (0: no index was negative), the highest index that
/// was too large (0: no index was), and the largest valid index.
using IndexFault = std::array<int32_t, 3>;

/// Returns the states of Role::fault, as indices into Plan::states.
std::vector<int> index_fault_states(const Plan& plan);

/// Collects the faults of a run for one Error that names all of them.
class IndexFaults {
 public:
  /// Adds the contents of a fault state, `numbers`. Has no effect if they record no fault.
  void add(const State& state, const IndexFault& numbers);
  /// Throws Error if any index was out of bounds. For each fault, the message says where the index is used,
  /// one index that was out of bounds, and the valid range.
  void check() const;

 private:
  std::vector<std::string> problems_;
};

}  // namespace smelt
