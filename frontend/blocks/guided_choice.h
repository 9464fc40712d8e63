// Sampling of tokens by scores that depend on the earlier tokens of a row (guided_scores.h). The entries
// @next_guided and @next_beams_guided use it. B is the number of rows, V the vocabulary.
#pragma once

#include "frontend/blocks/guided_scores.h"

namespace smelt {

/// Samples a token per row, as sample_tokens (token_choice.h) does, but from the scores of guided_scores().
/// Also appends the token to the row's text, from which the next scores are computed. `logits`: f32[B,V].
void choose_guided_tokens(BlockBuilder& b, Value* logits, const TokenChoice& choice, const TextChoice& text);
/// Adds a step of beam search, as choose_beams (token_choice.h) does, but with the scores of guided_scores().
/// The text of each row becomes the text of the beam that the row continues, followed by the new token.
/// `ends`, i32[sentences,kEndTokens]: end tokens of each sentence. B = sentences * beams.
void choose_guided_beams(BlockBuilder& b, Value* logits, const TokenChoice& choice, const TextChoice& text,
                         Value* ends, const Dim& sentences, const Dim& beams);

}  // namespace smelt
