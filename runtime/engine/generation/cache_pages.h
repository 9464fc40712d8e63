// Entries over caches that are in pages (frontend/build_transformer.h), and the size of a page.
#pragma once

#include <cstdint>

namespace smelt {

inline constexpr int64_t kPageTokens = 16;
/// Entries, in order: caches tokens of one row; does that and returns the last one's logits; reads one token
/// of each row and returns the logits.
inline constexpr const char *kReadPages = "read_pages", *kDecodePages = "decode_pages",
                            *kStepPages = "step_pages";
/// Entries in place of kStepPages if the plan samples tokens. The first reads one token of each row, samples
/// the next, and stores it for the next run in the row's slot of the states in token_states.h. The second
/// sets the biases and penalties of a slot for its next row.
inline constexpr const char *kNextPages = "next_pages", *kBeginPages = "begin_pages";

}  // namespace smelt
