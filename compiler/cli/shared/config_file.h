// --config FILE.json: a JSON object of options of a command. Keys are long option names without the leading
// dashes, and with '_' or '-' between words. The command line overrides the file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "runtime/system/json_text.h"

namespace smelt::cli {

/// Sets every option that the file has and the command line does not. Throws one Error that lists all unknown
/// names and all values of a wrong kind.
void read_config(CLI::App& command, const std::string& path);

/// Returns every option that has a value or a default, with its current value, as an object that read_config
/// can read from a file.
Json resolved_config(const CLI::App& command);

}  // namespace smelt::cli
