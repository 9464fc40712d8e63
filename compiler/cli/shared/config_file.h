// --config FILE.json: long options by name, without dashes; the command line overrides it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "runtime/system/json_text.h"

namespace smelt::cli {

/// Sets every option that the file names and the command line does not. One Error names all unknown names and
/// values of a wrong kind.
void read_config(CLI::App& command, const std::string& path);

/// Every option with the value it has now, as read_config reads it.
Json resolved_config(const CLI::App& command);

}  // namespace smelt::cli
