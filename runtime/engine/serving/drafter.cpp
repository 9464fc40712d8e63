#include "runtime/engine/serving/drafter.h"

namespace smelt {

/// Tokens that a text does not use are left for later texts.
void LookupDrafter::draft(std::span<DraftText> texts, size_t left) {
  auto others =
      static_cast<size_t>(std::ranges::count_if(texts, [](const DraftText& text) { return text.most > 0; }));
  for (DraftText& text : texts) {
    if (text.most == 0) continue;
    text.draft = likely_continuation(text.tokens, draft_share(text, left, --others));
    left -= text.draft.size();
  }
}

}  // namespace smelt
