// Text form of a module: print and parse are inverse to each other.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/graph/graph.h"

namespace smelt {

std::string print(const Module& module);
std::string print(const Graph& graph);
/// Returns one line of the text form (several for a fusion), without indentation; for messages and logs.
std::string print(const Node& node);

/// Parses a module. Throws Error with file name, line, column, the line and a caret under the position.
std::unique_ptr<Module> parse_module(std::string_view text, std::string_view file = "<text>");

}  // namespace smelt
