// What ranks exchange in each entry of a program, and what it is predicted to cost: a part of dump --summary.
#pragma once

#include <string>

#include "compiler/search/machine_rates.h"
#include "ir/program.h"

namespace smelt::cli {

/// Collectives by kind and axis, the time of each entry with what of it is hidden and exposed, and formulas
/// beside what was planned (compiler/search/rank_formulas.h). Empty of a program for one rank.
std::string collectives_text(const Program& program, const MachineRates& rates);

}  // namespace smelt::cli
