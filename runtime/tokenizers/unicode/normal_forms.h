// Unicode's normal forms as edits of aligned text.
#pragma once

#include "runtime/tokenizers/aligned_text.h"

namespace smelt {

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// Decomposes, orders and, for nfc and nfkc, composes; by the version of Unicode that Hugging Face's
/// tokenizers use.
void normalize_form(AlignedText& text, NormalForm form);

}  // namespace smelt
