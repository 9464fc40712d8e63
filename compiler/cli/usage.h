// The message for a command line that cannot be read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace smelt::cli {

/// It says what is wrong, what may have been meant, and where the options are listed.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& problem);

}  // namespace smelt::cli
