// What a run leaves behind where an index was out of bounds, so that it ends with an Error though the kernel
// has gone on with the nearest row, or without it. A plan's compiler keeps one state for every index that it
// could not prove.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Such a state is called by this and the place of the index; it holds three numbers, i32.
inline constexpr std::string_view kIndexFaultPrefix = "index_fault/";
/// The same of an index whose row was left out.
inline constexpr std::string_view kDroppedIndexPrefix = "dropped_index/";
/// The lowest index below 0 (0: none was), the highest that was too large (0: none was), and the last row.
using IndexFault = std::array<int32_t, 3>;

/// Indices into Plan::states.
std::vector<int> index_fault_states(const Plan& plan);

/// Throws Error with the place, an index and the rows there are, where `numbers` says that one was out of
/// bounds.
void check_index_fault(const State& state, const IndexFault& numbers);

}  // namespace smelt
