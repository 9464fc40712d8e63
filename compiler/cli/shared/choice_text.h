// Text about steps that have several variants, in tables and records.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/session/executor.h"

namespace smelt::cli {

/// Returns " [wgmma]": the variant that a step is a part of; empty for other steps.
std::string alternative_text(const PlanEntry& entry, const Step& step);

/// Returns a line for each kind of work that has variants.
std::string choices_text(const Plan& plan);

/// Returns the taken variants by kind of work: {"h.*.attention (forward)": "wgmma"}; several where sizes
/// differ.
std::map<std::string, std::string> taken_alternatives(const std::vector<ChoiceTaken>& taken);

}  // namespace smelt::cli
