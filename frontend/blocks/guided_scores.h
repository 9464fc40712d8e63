// Scores that options change by a row's text (@next_guided, @next_beams_guided), as in
// runtime/engine/generation/logits_processors.h and in its order.
#pragma once

#include "frontend/blocks/token_choice.h"

namespace smelt {

/// Inputs that change the scores of rows, as runtime/plan/decode_contract.def has them. All but `places`
/// belong to one request.
struct TextChoice {
  Value *places = nullptr, *numbers = nullptr, *integers = nullptr;
  Value* growth = nullptr;
  Value *biased_before = nullptr, *biased_last = nullptr, *biases = nullptr, *biased_with = nullptr;
  Value *banned_before = nullptr, *banned_last = nullptr;
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
