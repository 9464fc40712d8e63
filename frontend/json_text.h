// JSON as people and programs write it, read strictly: duplicate keys and deep nesting are errors, places are
// named.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace smelt {

using Json = nlohmann::json;

/// Throws Error (invalid_file) with file, line and column; `file` is for the message alone.
Json parse_json(std::string_view text, std::string_view file);

/// The whole of a file, parsed; throws Error (io) where it cannot be read.
Json read_json_file(const std::filesystem::path& path);

/// One line for messages: long values are cut.
std::string brief(const Json& value);
/// "an integer", "a string", ...
std::string_view kind_of(const Json& value);

}  // namespace smelt
