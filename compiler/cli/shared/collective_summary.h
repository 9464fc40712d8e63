// The collectives of each entry of a program and their predicted cost: a part of dump --summary.
#pragma once

#include <string>

#include "compiler/search/machine_rates.h"
#include "ir/program/program.h"

namespace smelt::cli {

/// Returns the collectives by kind and axis, the hidden and exposed time of each entry, and formulas next to
/// the planned values (compiler/search/rank_formulas.h). Empty for a program of one rank.
std::string collectives_text(const Program& program, const MachineRates& rates);

}  // namespace smelt::cli
