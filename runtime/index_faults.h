// The record that a run leaves where an index was out of bounds, so that it ends with an Error although the
// kernel continued with the nearest row. A plan's compiler keeps one state for every index that it could not
// prove.
#pragma once

#include <array>
#include <cstdint>
#include <span>
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

/// Throws Error with the place, the index and the number of rows, where `numbers` records that an index was
/// out of bounds.
void check_index_fault(const State& state, const IndexFault& numbers);

}  // namespace smelt
