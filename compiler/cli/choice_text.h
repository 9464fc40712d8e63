// Steps that can be done in several ways, in tables and records.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/executor.h"

namespace smelt::cli {

/// " [wgmma]": the alternative that a step is of; empty for others.
std::string alternative_text(const PlanEntry& entry, const Step& step);

/// A line for each kind of work that has alternatives.
std::string choices_text(const Plan& plan);

/// By kind of work, what was taken: {"h.*.attention (forward)": "wgmma"}; several where sizes differ.
std::map<std::string, std::string> taken_alternatives(const std::vector<ChoiceTaken>& taken);

}  // namespace smelt::cli
