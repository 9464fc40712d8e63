// Messages for command lines that cannot be parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace smelt::cli {

/// Returns a message with the problem, a similar word that may have been meant, and the command that prints
/// the help.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& problem);

/// Makes a message `text` of the CLI11 library plainer if it is about a value out of range. The result is,
/// for example, "--steps: -1, expected a number from 0 on". Returns other messages unchanged. `command`: null
/// if the command is not known.
std::string plain_problem(const CLI::App* command, const std::string& text);

}  // namespace smelt::cli
