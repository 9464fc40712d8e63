// The words of a command line, made safe for the library that reads them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace smelt::cli {

/// Returns the text so that the library keeps it whole: a text in brackets, such as the prompt "[a, b]",
/// would be taken for a list. Options of a command that guard_options has prepared read it as it was.
std::string guarded(std::string text);
/// The text before guarded().
std::string unguarded(std::string text);

/// Prepares all options of all commands: for guarded texts, and to refuse an empty text where it means
/// nothing, as of a variable that the shell does not know.
void guard_options(CLI::App& app);

/// Returns the words of a command line as CLI::App::parse takes them. Throws CLI::ParseError where a flag has
/// a value that is neither true nor false.
std::vector<std::string> guarded_words(const CLI::App& app, int argc, char** argv);

}  // namespace smelt::cli
