// Changes of the scores of tokens before sampling that depend on the row's text (its earlier tokens), such as
// repetition penalties and banned n-grams and phrases, for the entries @next_guided and @next_beams_guided.
// They are the same changes, in the same order, that the host makes in
// runtime/engine/generation/logits_processors.h. In shapes, B is the number of rows and V the size of the
// vocabulary.
#pragma once

#include "frontend/blocks/token_choice.h"

namespace smelt {

/// Inputs of a graph that specify the changes; runtime/plan/decode_contract.def defines their shapes and
/// meanings. `places`, the input text_places, has values for each row of the batch. The other inputs are
/// common to all rows, because all rows are sequences of one request.
struct TextChoice {
  Value *places = nullptr, *numbers = nullptr, *integers = nullptr;
  Value* growth = nullptr;
  Value *biased_before = nullptr, *biased_last = nullptr, *biases = nullptr, *biased_with = nullptr;
  Value *banned_before = nullptr, *banned_last = nullptr;
};

/// Adds the inputs to the graph. `rows`: a value i32[B]; only its size is used. Requires: declare_text_states
/// was called.
TextChoice text_choice_inputs(BlockBuilder& b, Value* rows);
/// Declares the states that hold the tokens of the texts. Each of the `slots` rows has room for a text of
/// `capacity` tokens, and for a source (an encoder's input) of `source_capacity` tokens.
void declare_text_states(BlockBuilder& b, int64_t slots, int64_t capacity, int64_t source_capacity);

/// Returns the number of tokens in each row's text, i32[B].
Value* text_lengths(GraphBuilder& g, const TokenChoice& choice, const TextChoice& text);
/// Returns the changed scores, f32[B,V]. `scores`, f32[B,V], are logits or log-probabilities.
Value* guided_scores(BlockBuilder& b, Value* scores, const TokenChoice& choice, const TextChoice& text);
/// Returns element `which` of the vector `numbers` (TextChoice::numbers or ::integers), broadcast to `shape`.
Value* number_of(GraphBuilder& g, Value* numbers, int64_t which, const Shape& shape);
/// Returns table[b, columns[b,...]] for each row b of `table`, which has B rows and W columns. The result has
/// the shape of `columns`, i32[B,...]. Requires: columns are in [0, W).
Value* elements_of_rows(GraphBuilder& g, Value* table, Value* columns);

}  // namespace smelt
