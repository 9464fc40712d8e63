// Sampling of the next token of every row from its logits, in a graph (@next, @next_pages).
#pragma once

#include <functional>

#include "frontend/blocks/blocks.h"
#include "runtime/plan/decode_contract.h"
namespace smelt {

/// Inputs of the sampler per row of the batch: B rows or those of all beams, i32[B], and inputs of
/// runtime/plan/decode_contract.def.
struct TokenChoice {
  Value* rows = nullptr;   // the slot of each row in the states
  bool any_slots = false;  // false: the slots are 0 ... B-1
  Value* past = nullptr;   // tokens that were read before this run's one
  Value *numbers = nullptr, *integers = nullptr, *penalty = nullptr;
  Value *held_back = nullptr, *held_back_until = nullptr, *forced = nullptr, *forced_at = nullptr;
};

/// Adds the per-row inputs that the host gives in every run.
TokenChoice token_choice_inputs(BlockBuilder& b, Value* rows, Value* past);
/// Adds only the inputs of a random draw: rows, past, numbers and integers.
TokenChoice drawing_inputs(BlockBuilder& b, Value* rows, Value* past);
/// Adds an input of the decode contract for runs of these sizes.
Value* decode_input(BlockBuilder& b, const DecodePort& port, const Extents& sizes);
/// Adds an input of tokens; -1 means none.
Value* tokens_or_none(BlockBuilder& b, const DecodePort& port, const Extents& sizes);
/// Declares states of the decode contract for plans of these sizes.
void declare_states(BlockBuilder& b, const Extents& sizes,
                    std::initializer_list<std::reference_wrapper<const DecodeState>> states);
/// Declares the states of sampled tokens, without state::next_past, for `slots` rows of `capacity` tokens.
void declare_token_states(BlockBuilder& b, int64_t slots, int64_t capacity);
/// Sets the biases and penalties for the next row of one slot, from inputs.
void begin_choice(BlockBuilder& b);
/// Declares the additional states of beams.
void declare_beam_states(BlockBuilder& b, int64_t slots, int64_t capacity);
/// Returns the batch's rows of an integer state [slots], limited to [0, below).
Value* rows_of_state(BlockBuilder& b, std::string_view name, const Dim& rows, int64_t below);

/// Returns column i of a table [B,columns].
Value* column(GraphBuilder& g, Value* x, int64_t i);
/// Limits an index to [0, below), so that no kernel has to check it.
Value* within(GraphBuilder& g, Value* index, int64_t below);
/// Appends dims of one element: an index then refers to whole rows of the inserted value.
Value* with_ones(GraphBuilder& g, Value* x, int64_t count = 1);
/// Writes the first rows of a state.
void put_rows(GraphBuilder& g, std::string_view state, Value* rows);
/// Returns the batch's rows of a state.
Value* of_rows(GraphBuilder& g, std::string_view state, const TokenChoice& choice);
/// Maximum of each row of f32[B,V], and the logarithm of the sum of exponentials relative to it, f32[B].
/// Subtracted one after the other, they give log-probabilities that are rounded while they are small.
struct LogSum {
  Value *top, *log;
};
LogSum log_sum(GraphBuilder& g, Value* logits);
/// Returns the scores of tokens that occurred before, changed by their penalties; a penalty of 0 means none.
Value* penalised(GraphBuilder& g, Value* scores, Value* penalties);
/// Reshapes f32[B,V] to [B,parts,V/parts].
Value* in_parts(GraphBuilder& g, Value* x);
/// Returns such parts plus the biases of their rows.
Value* biased(GraphBuilder& g, Value* scores, const TokenChoice& choice);
/// Removes the tokens that are held back at `place`; a token that is forced there stays.
Value* without_held_back(GraphBuilder& g, Value* scores, const TokenChoice& choice, Value* place);

/// Returns the slots of the positions of all beams' rows, i32[B,capacity], including this run's own position.
Value* beam_rows(BlockBuilder& b, const TokenChoice& choice);
/// Continuations of each sentence, best first: [sentences, kBeamCandidates].
struct Candidates {
  Value *sums, *beams, *tokens;
};
/// Returns the best candidates, given the sums [sentences, beams * V].
Candidates best_candidates(BlockBuilder& b, Value* sums);
/// Returns NaN for each row whose logits allow no choice, otherwise any number, [sentences * beams]; inactive
/// beams are ignored.
Value* fault_of_sums(GraphBuilder& g, Value* logits);
/// Row that each of the next beams continues, and its new token, [sentences * beams].
struct NextBeams {
  Value *parents, *tokens;
};
/// Returns the candidates to the host and stores the continued beams for the next run. `ends`:
/// i32[sentences,kEndTokens].
NextBeams leave_beams(BlockBuilder& b, const Candidates& found, Value* faults, const TokenChoice& choice,
                      Value* ends, const Dim& beams);
/// Chooses the candidates of each sentence, and from these its next beams, given f32[B,V].
void choose_beams(BlockBuilder& b, Value* logits, const TokenChoice& choice, Value* ends,
                  const Dim& sentences, const Dim& beams);
/// Draws a token of each row by its scores, f32[B,V]; -1 if there is none.
Value* drawn_tokens(GraphBuilder& g, Value* scores, const TokenChoice& choice, Value* place);
/// Stores the tokens for the next run, and returns them to the host with their probabilities by the logits.
/// Returns the tokens that the next run reads.
Value* leave_tokens(BlockBuilder& b, Value* logits, Value* token, const TokenChoice& choice, Value* place);
/// Samples a token per row from f32[B,V], and stores the states of the next run, without state::next_past.
void sample_tokens(BlockBuilder& b, Value* logits, const TokenChoice& choice);

}  // namespace smelt
