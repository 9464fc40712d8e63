// The command line `smelt`: compiler/cli/commands has a file for each command.
#pragma once

#include <string>
#include <vector>

namespace smelt::cli {

/// Runs the command that argv[1] names, and returns the exit status of the process: 0, 1 after a failure, 2
/// for words that it does not know. Failures are printed to standard error. `program` are the words that
/// start a process of the same command line, such as {"/proc/self/exe"}, before the name of a command. To be
/// called once in a process, because it changes how the process handles signals and messages.
int command_line(int argc, char** argv, std::vector<std::string> program);

}  // namespace smelt::cli
