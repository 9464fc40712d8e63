// The layer of a model that a source name belongs to. Reports group steps by layer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// Returns the beginning of a dotted name, up to and including the first part that is a number: "h.3" for
/// "h.3.attention.c_proj". If no part is a number, returns the first two parts.
std::string layer_of(std::string_view source);
/// Returns the layer of a step with these sources. If the sources have two layers, returns the layer that
/// occurs last, because the computation continues there. Returns "(several)" for more layers, and "(none)" if
/// there are no sources.
std::string layer_of(const std::vector<std::string>& sources);
/// Splits a text at " + ": "a + b" becomes "a" and "b".
std::vector<std::string> source_parts(std::string_view source);

}  // namespace smelt
