// Runs other programs, where they are installed.
#pragma once

#include <string>
#include <vector>

namespace smelt::cli {

/// The path of an executable on PATH; empty where there is none.
std::string find_program(const std::string& name);

/// Runs it without input and output, and kills it after the time limit. Returns whether it ended with status
/// 0.
bool run_program(const std::vector<std::string>& arguments, double seconds);

}  // namespace smelt::cli
