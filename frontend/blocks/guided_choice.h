// Tokens that are chosen by scores which options change by what stands in a row's text.
#pragma once

#include "frontend/blocks/guided_scores.h"

namespace smelt {

/// As choose_tokens; also puts each token behind its row's text.
void choose_guided_tokens(BlockBuilder& b, Value* logits, const TokenChoice& choice, const TextChoice& text);
/// As choose_beams; each row has the text of the beam that it goes on from, and its new token behind it.
void choose_guided_beams(BlockBuilder& b, Value* logits, const TokenChoice& choice, const TextChoice& text,
                         Value* ends, const Dim& sentences, const Dim& beams);

}  // namespace smelt
