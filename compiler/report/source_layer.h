// The layer of a model that a source name is part of; reports group steps by it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// "h.3" of "h.3.attention.c_proj": up to the first part that is a number; else the first two parts.
std::string layer_of(std::string_view source);
/// Returns the layer of a step with these sources: with two layers the later one, as it continues from there;
/// "(several)" with more, "(none)" without sources.
std::string layer_of(const std::vector<std::string>& sources);
/// "a + b" as "a" and "b".
std::vector<std::string> source_parts(std::string_view source);

}  // namespace smelt
