// Unicode normal forms and grapheme clusters.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/tokenizers/aligned_text.h"

namespace smelt {

// ---- graphemes.cpp
// Grapheme clusters: sequences of code points that a reader perceives as one character.

/// Returns the end, in bytes, of the grapheme cluster that begins at byte `at`. Requires: `text` is valid
/// UTF-8.
uint32_t grapheme_end(std::string_view text, uint32_t at);

// ---- normal_forms.cpp
// Unicode normal forms of a text whose bytes have origins in another text (AlignedText).

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// Converts the text to a normal form, as defined by the version of Unicode that Hugging Face's tokenizers
/// use.
void normalize_form(AlignedText& text, NormalForm form);

}  // namespace smelt
