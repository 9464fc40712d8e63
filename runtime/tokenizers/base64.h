// Decoding of base64, the encoding of binary data in JSON files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smelt {

/// Returns the decoded bytes; nothing if the text is not valid base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace smelt
