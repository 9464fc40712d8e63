// Grapheme clusters: what a reader sees as one character.
#pragma once

#include <cstdint>
#include <string_view>

namespace smelt {

/// Where the grapheme that begins at `at` ends.
uint32_t grapheme_end(std::string_view text, uint32_t at);

}  // namespace smelt
