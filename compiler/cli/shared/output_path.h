// Checks that the paths that commands write to differ from those that they read.
#pragma once

#include <string>
#include <vector>

namespace smelt::cli {

/// Throws Error where the output would overwrite one of the inputs. Empty names and names of missing files
/// are skipped.
void require_other_output(const std::string& output, const std::vector<std::string>& inputs);

/// Throws Error where a plan would overwrite a file that is no plan.
void require_place_for_plan(const std::string& output);

}  // namespace smelt::cli
