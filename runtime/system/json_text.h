// Strict reading of JSON from untrusted sources. Broken text is an error with a position. A name that appears
// twice in an object, and nesting deeper than 64, are errors without a position.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace smelt {

using Json = nlohmann::json;

/// Parses JSON. Throws Error (invalid_file) with `file`. If the text is broken, the error also has the byte,
/// line and column (from 1), the text found there and the expected text. Objects and lists are nested at most
/// 64 deep, so that recursive functions may walk the result.
Json parse_json(std::string_view text, std::string_view file);
/// Returns the same; members keep their order.
nlohmann::ordered_json parse_ordered_json(std::string_view text, std::string_view file);

/// Null if parse_json refuses the text: for caches, which are made anew.
Json parse_json_or_null(std::string_view text);

/// The whole of a file of at most 64 MiB, parsed; throws Error (io) if it cannot be read.
Json read_json_file(const std::filesystem::path& path);

/// Throws the error of parse_json for `text`, which nlohmann's parser refused. It is for readers with their
/// own SAX events.
[[noreturn]] void fail_broken_json(std::string_view text, std::string_view file);

/// One line for messages: long values are cut.
std::string brief(const Json& value);
/// "an integer", "a string", ...
std::string_view kind_of(const Json& value);

}  // namespace smelt
