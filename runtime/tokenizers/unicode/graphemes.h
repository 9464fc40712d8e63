// Grapheme clusters: characters as a reader sees them.
#pragma once

#include <cstdint>
#include <string_view>

namespace smelt {

/// Returns the end of the grapheme that begins at `at`.
uint32_t grapheme_end(std::string_view text, uint32_t at);

}  // namespace smelt
