// Checks that the paths that commands write to differ from those that they read.
#pragma once

#include <string>
#include <vector>

namespace smelt::cli {

/// Throws Error if `output` is the same file as one of the inputs. Empty names and names of missing files are
/// skipped.
void require_other_output(const std::string& output, const std::vector<std::string>& inputs);

/// Throws Error if `output` is a file that is neither empty nor a plan, because writing a plan would destroy
/// it.
void require_place_for_plan(const std::string& output);

}  // namespace smelt::cli
