// Base64, the encoding of binary data in JSON files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smelt {

/// Returns the decoded bytes; nothing if the text is not valid base64.
std::optional<std::string> decode_base64(std::string_view text);
/// Returns the text of the bytes, padded to a multiple of four characters.
std::string encode_base64(std::string_view bytes);

}  // namespace smelt
