// Normal forms and graphemes of Unicode.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/tokenizers/aligned_text.h"

namespace smelt {

// ---- graphemes.cpp
// Grapheme clusters: characters as a reader sees them.

/// Returns the end of the grapheme that begins at `at`.
uint32_t grapheme_end(std::string_view text, uint32_t at);

// ---- normal_forms.cpp
// Unicode's normal forms as edits of aligned text.

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// Decomposes, orders and, for nfc and nfkc, composes; by the version of Unicode that Hugging Face's
/// tokenizers use.
void normalize_form(AlignedText& text, NormalForm form);

}  // namespace smelt
