// Sampling of tokens with scores that options change by a row's text.
#pragma once

#include "frontend/blocks/guided_scores.h"

namespace smelt {

/// Does the same as sample_tokens; also appends each token to its row's text.
void choose_guided_tokens(BlockBuilder& b, Value* logits, const TokenChoice& choice, const TextChoice& text);
/// Does the same as choose_beams; each row gets the text of the beam that it continues, followed by its new
/// token.
void choose_guided_beams(BlockBuilder& b, Value* logits, const TokenChoice& choice, const TextChoice& text,
                         Value* ends, const Dim& sentences, const Dim& beams);

}  // namespace smelt
