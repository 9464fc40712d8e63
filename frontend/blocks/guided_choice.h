// Sampling of tokens by scores that depend on the row's earlier tokens (see guided_scores.h), for the entries
// @next_guided and @next_beams_guided.
#pragma once

#include "frontend/blocks/guided_scores.h"

namespace smelt {

/// Does the same as sample_tokens (token_choice.h), with the scores of guided_scores. Also appends each
/// sampled token to the text of its row. `logits`: f32[B,V].
void choose_guided_tokens(BlockBuilder& b, Value* logits, const TokenChoice& choice, const TextChoice& text);
/// Does the same as choose_beams (token_choice.h), with the scores of guided_scores. The text of each row
/// becomes the text of the beam that the row continues, followed by the new token. `ends`: the end tokens, as
/// in leave_beams. B = sentences * beams.
void choose_guided_beams(BlockBuilder& b, Value* logits, const TokenChoice& choice, const TextChoice& text,
                         Value* ends, const Dim& sentences, const Dim& beams);

}  // namespace smelt
