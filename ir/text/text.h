// The text form of a module: print and parse are inverse to each other.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace smelt {

std::string print(const Module& module);
std::string print(const Graph& graph);
/// One line of the text form (a fusion: its lines), without indentation; for messages and logs.
std::string print(const Node& node);

/// Throws Error with file name, line, column, the line and a caret under the place.
std::unique_ptr<Module> parse_module(std::string_view text, std::string_view file = "<text>");

}  // namespace smelt
