// Entries over caches that are in pages (frontend/build_transformer.h), and the size of a page.
#pragma once

#include <cstdint>

namespace smelt {

inline constexpr int64_t kPageTokens = 16;
/// Keeps the tokens of one row; does that and gives the last one's logits; reads one token of each row, and
/// gives the logits.
inline constexpr const char *kReadPages = "read_pages", *kDecodePages = "decode_pages",
                            *kStepPages = "step_pages";

}  // namespace smelt
