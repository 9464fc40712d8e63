// The next token of every row, chosen from its logits by a graph (@next).
#pragma once

#include "frontend/blocks/blocks.h"
#include "runtime/generation/token_states.h"

namespace smelt {

/// What tokens are chosen by: of each row of the batch.
struct TokenChoice {
  int64_t capacity = 0;              // tokens that a row's caches hold
  Value* rows = nullptr;             // i32[B]: 0 ... B-1
  Value* past = nullptr;             // i32[B]: tokens that were read before this run's one
  Value* numbers = nullptr;          // f32[B,3]: temperature (0: greedy), top_p, min_p
  Value* integers = nullptr;         // i32[B,3]: top_k, seed, index of the sequence
  Value* penalty = nullptr;          // f32[B]: of a token that has come, as repetition_penalty
  Value* held_back = nullptr;        // i32[B,kHeldBackTokens]: tokens that may not come ...
  Value* held_back_until = nullptr;  // ... before this place in the row; -1: none
  Value* forced = nullptr;           // i32[B,kForcedTokens]: tokens that come ...
  Value* forced_at = nullptr;        // ... at this place; -1: none
};

/// The states of runtime/generation/token_states.h, for so many rows of so many tokens.
void declare_token_states(BlockBuilder& b, int64_t slots, int64_t capacity);
/// What an integer state [slots] has of the batch's rows, between 0 and `below`.
Value* rows_of_state(BlockBuilder& b, std::string_view name, const Dim& rows, int64_t below);
/// f32[B,V] to a token a row, and the states that the next run reads.
void choose_tokens(BlockBuilder& b, Value* logits, const TokenChoice& choice);

}  // namespace smelt
