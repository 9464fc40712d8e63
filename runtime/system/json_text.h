// Strict parsing of JSON from untrusted sources. Two conditions are errors in addition to invalid JSON: a
// name that appears twice in an object, and nesting that is deeper than 64 levels.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace smelt {

using Json = nlohmann::json;

/// Parses JSON. Throws Error (invalid_file) naming `file`. If the text is not valid JSON, the error also has
/// the byte, line and column (from 1), the text found there and the expected text. The depth of the result is
/// at most 64, so recursive functions may process it.
Json parse_json(std::string_view text, std::string_view file);
/// Does the same, and keeps the order of the members of objects.
nlohmann::ordered_json parse_ordered_json(std::string_view text, std::string_view file);

/// Does the same as parse_json, but returns JSON null instead of throwing. It is for cache files, which are
/// written again if they are damaged.
Json parse_json_or_null(std::string_view text);

/// Reads and parses a file of at most 64 MiB. Throws Error (io) if it cannot be read, and the errors of
/// parse_json.
Json read_json_file(const std::filesystem::path& path);

/// Throws the error that parse_json throws for `text`. Requires: nlohmann's parser has reported an error for
/// `text`. It is for readers that use nlohmann's SAX interface instead of parse_json (json_sax.h).
[[noreturn]] void fail_broken_json(std::string_view text, std::string_view file);

/// Returns the value as one line for messages; long values are truncated.
std::string brief(const Json& value);
/// Returns the type of the value, for messages: "an integer", "a string", ...
std::string_view kind_of(const Json& value);

}  // namespace smelt
