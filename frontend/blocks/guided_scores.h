// Scores that options change by what stands in a row's text (@next_guided, @next_beams_guided), as
// runtime/generation/logits_processors.h says and in its order.
#pragma once

#include "frontend/blocks/token_choice.h"

namespace smelt {

/// What the scores of rows are changed by, of one request but for `places`; the columns and elements are
/// named in runtime/generation/token_states.h.
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

/// As inputs of the graph, for rows i32[B].
TextChoice text_choice_inputs(BlockBuilder& b, Value* rows);
/// The states of texts of so many rows and tokens, and of sources of so many.
void declare_text_states(BlockBuilder& b, int64_t slots, int64_t capacity, int64_t source_capacity);

/// Tokens in each row's text, i32[B].
Value* text_lengths(GraphBuilder& g, const TokenChoice& choice, const TextChoice& text);
/// f32[B,V]: what becomes of these scores.
Value* guided_scores(BlockBuilder& b, Value* scores, const TokenChoice& choice, const TextChoice& text);
/// One number of a request, everywhere in a value of that shape.
Value* number_of(GraphBuilder& g, Value* numbers, int64_t which, const Shape& shape);
/// The element of each row of table [B,W] at the columns [B,...] between 0 and W.
Value* elements_of_rows(GraphBuilder& g, Value* table, Value* columns);

}  // namespace smelt
