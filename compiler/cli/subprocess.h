// Another program, where it is installed.
#pragma once

#include <string>
#include <vector>

namespace smelt::cli {

/// The path of an executable on PATH; empty where there is none.
std::string find_program(const std::string& name);

/// Runs it without input and output. True when it ended with status 0 within the time; it is killed beyond.
bool run_program(const std::vector<std::string>& arguments, double seconds);

}  // namespace smelt::cli
