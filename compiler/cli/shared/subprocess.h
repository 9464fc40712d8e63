// Execution of other installed programs.
#pragma once

#include <string>
#include <vector>

namespace smelt::cli {

/// Returns the path of an executable in the directories of PATH; empty if there is none.
std::string find_program(const std::string& name);

/// Runs a program with its input and output connected to /dev/null, and kills it after `seconds`.
/// arguments[0] is the program's path. Returns whether the program ended with status 0.
bool run_program(const std::vector<std::string>& arguments, double seconds);

/// Runs a program with the standard streams of this one, and waits until it ends. arguments[0] is the
/// program's path. Returns its exit status; 128 plus the number of the signal that ended it; or -1 if it
/// cannot be started.
int run_visibly(const std::vector<std::string>& arguments);

}  // namespace smelt::cli
