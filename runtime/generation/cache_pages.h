// Entries over caches that are in pages (frontend/build_transformer.h), and the size of a page.
#pragma once

#include <cstdint>

namespace smelt {

inline constexpr int64_t kPageTokens = 16;
/// Keeps the tokens of one row; does that and gives the last one's logits; reads one token of each row, and
/// gives the logits.
inline constexpr const char *kReadPages = "read_pages", *kDecodePages = "decode_pages",
                            *kStepPages = "step_pages";
/// In place of kStepPages, where the plan chooses tokens: reads one token of each row, chooses the next, and
/// leaves it to the next run in the row's slot of the states in token_states.h; and gives a slot the biases
/// and penalties that its next row's tokens are chosen by.
inline constexpr const char *kNextPages = "next_pages", *kBeginPages = "begin_pages";

}  // namespace smelt
