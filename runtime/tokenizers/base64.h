// Base64, as binary data is written in JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smelt {

/// Nothing if the text is not base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace smelt
