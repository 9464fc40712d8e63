// Scores that options change by a row's text (@next_guided, @next_beams_guided), as in
// runtime/engine/generation/logits_processors.h and in its order.
#pragma once

#include "frontend/blocks/token_choice.h"

namespace smelt {

/// Inputs that change the scores of rows. All but `places` belong to one request;
/// runtime/engine/generation/token_states.h names the columns and elements.
struct TextChoice {
  Value* places = nullptr;    // i32[B,kTextPlaces]
  Value* numbers = nullptr;   // f32[kTextNumbers]
  Value* integers = nullptr;  // i32[kTextIntegers]
  Value* growth = nullptr;    // f32[capacity + 1]: of ends, by how many tokens a text is beyond its length
  Value* biased_before = nullptr;  // i32[kBiasedPhrases,kPhraseTokens]
  Value* biased_last = nullptr;    // i32[kBiasedPhrases], -1: none
  Value* biases = nullptr;         // f32[kBiasedPhrases]
  Value* biased_with =
      nullptr;  // i32[kBiasedPhrases,kBiasesOfToken]: phrases of the same last token, in order
  Value* banned_before = nullptr;  // i32[kBannedPhrases,kPhraseTokens]
  Value* banned_last = nullptr;    // i32[kBannedPhrases], -1: none
};

/// Adds these as inputs of the graph, for rows i32[B].
TextChoice text_choice_inputs(BlockBuilder& b, Value* rows);
/// Declares the states of texts of `slots` rows of `capacity` tokens, and of sources of `source_capacity`.
void declare_text_states(BlockBuilder& b, int64_t slots, int64_t capacity, int64_t source_capacity);

/// Returns the number of tokens in each row's text, i32[B].
Value* text_lengths(GraphBuilder& g, const TokenChoice& choice, const TextChoice& text);
/// Returns the changed scores, f32[B,V].
Value* guided_scores(BlockBuilder& b, Value* scores, const TokenChoice& choice, const TextChoice& text);
/// Returns one number of a request, broadcast to that shape.
Value* number_of(GraphBuilder& g, Value* numbers, int64_t which, const Shape& shape);
/// Returns the elements of table [B,W] in the columns [B,...]. Requires: columns are in [0, W).
Value* elements_of_rows(GraphBuilder& g, Value* table, Value* columns);

}  // namespace smelt
