// Words of a command line, changed so that the CLI11 library, which parses them, does not misread them. CLI11
// would split a word in brackets, such as the prompt "[a, b]", as a list. So an invisible character is
// appended to such words (guarded), and removed when the value of the option is stored (unguarded).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace smelt::cli {

/// Returns the text with the guard character at its end if it ends with ']', else unchanged.
std::string guarded(std::string text);
/// Returns the text without the guard character.
std::string unguarded(std::string text);

/// Makes all options of all commands unguard their values, and refuse an empty text unless it is a sensible
/// value of the option. An empty text is typically the value of an undefined shell variable.
void guard_options(CLI::App& app);

/// Returns the words of a command line, without the program's name, guarded and in the reverse order that
/// CLI::App::parse expects. Throws CLI::ParseError if a flag has a value that is neither true nor false.
std::vector<std::string> guarded_words(const CLI::App& app, int argc, char** argv);

}  // namespace smelt::cli
