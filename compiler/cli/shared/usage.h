// The message for a command line that cannot be read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace smelt::cli {

/// Returns a text with the problem, the word that may have been meant, and the command that lists the
/// options.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& problem);

/// Returns a text such as "--steps: -1, expected a number from 0 on" for the library's text about a value out
/// of range; other texts unchanged.
std::string plain_problem(const CLI::App* command, const std::string& text);

}  // namespace smelt::cli
