// The next token of every row, chosen from its logits by a graph (@next, @next_pages).
#pragma once

#include "frontend/blocks/blocks.h"
#include "runtime/generation/token_states.h"

namespace smelt {

/// What tokens are chosen by: of each row of the batch, B rows or those of all beams.
struct TokenChoice {
  Value* rows = nullptr;             // i32[B]: the slot of each row in the states
  bool any_slots = false;            // these may be any ones; else 0 ... B-1
  Value* past = nullptr;             // i32[B]: tokens that were read before this run's one
  Value* numbers = nullptr;          // f32[B,3]: temperature (0: greedy), top_p, min_p
  Value* integers = nullptr;         // i32[B,4]: top_k, seed, unused, index of the sequence
  Value* penalty = nullptr;          // f32[B]: of a token that has come, as repetition_penalty
  Value* held_back = nullptr;        // i32[B,kHeldBackTokens]: tokens that may not come ...
  Value* held_back_until = nullptr;  // ... before this place in the row; -1: none
  Value* forced = nullptr;           // i32[B,kForcedTokens]: tokens that come ...
  Value* forced_at = nullptr;        // ... at this place; -1: none
};

/// What the host gives of each row in every run, as inputs of the graph.
TokenChoice token_choice_inputs(BlockBuilder& b, Value* rows, Value* past);
/// The same of what draws alone: rows, past, numbers and integers.
TokenChoice drawing_inputs(BlockBuilder& b, Value* rows, Value* past);
/// An input of tokens, and -1 for none.
Value* tokens_or_none(BlockBuilder& b, const char* name, Shape shape);

/// The states of runtime/generation/token_states.h but kNextPast, for so many rows of so many tokens.
void declare_token_states(BlockBuilder& b, int64_t slots, int64_t capacity);
/// What the tokens of one slot's next row are chosen by, from inputs: its biases and its penalties.
void begin_choice(BlockBuilder& b);
/// The states that beams need beside them.
void declare_beam_states(BlockBuilder& b, int64_t slots, int64_t capacity);
/// What an integer state [slots] has of the batch's rows, between 0 and `below`.
Value* rows_of_state(BlockBuilder& b, std::string_view name, const Dim& rows, int64_t below);

/// Column i of a table [B,columns].
Value* column(GraphBuilder& g, Value* x, int64_t i);
/// Between 0 and `below`, so that no kernel has to look whether an index is.
Value* within(GraphBuilder& g, Value* index, int64_t below);
/// With dims of one element behind its own: an index stands for whole rows of what it puts somewhere.
Value* with_ones(GraphBuilder& g, Value* x, int64_t count = 1);
/// Writes the first rows of a state.
void put_rows(GraphBuilder& g, std::string_view state, Value* rows);
/// What a state has of the batch's rows.
Value* of_rows(GraphBuilder& g, std::string_view state, const TokenChoice& choice);
/// f32[B]: the largest of each row of f32[B,V], and the logarithm of the sum of exponentials relative to it.
/// Taken away one after the other, they leave log-probabilities that are rounded where they are small.
struct LogSum {
  Value *top, *log;
};
LogSum log_sum(GraphBuilder& g, Value* logits);
/// The score of a token that was there before, by its penalty; others have none, which is 0.
Value* penalised(GraphBuilder& g, Value* scores, Value* penalties);
/// f32[B,V] as [B,parts,V/parts].
Value* in_parts(GraphBuilder& g, Value* x);
/// Such parts and the biases of their rows.
Value* biased(GraphBuilder& g, Value* scores, const TokenChoice& choice);
/// Without the tokens that may not come yet at `place`; one that is forced there may.
Value* without_held_back(GraphBuilder& g, Value* scores, const TokenChoice& choice, Value* place);

/// The slots in which the places of all beams' rows lie, i32[B,capacity], this run's own place among them.
Value* beam_rows(BlockBuilder& b, const TokenChoice& choice);
/// Continuations of each sentence, the best first: [sentences, kBeamCandidates].
struct Candidates {
  Value *sums, *beams, *tokens;
};
/// Sums of [sentences, beams * V].
Candidates best_candidates(BlockBuilder& b, Value* sums);
/// NaN for each row whose logits say that nothing can be chosen, else any number, [sentences * beams]; of a
/// beam that is none it does not count.
Value* fault_of_sums(GraphBuilder& g, Value* logits);
/// The row that each of the next beams goes on from, and its new token, [sentences * beams].
struct NextBeams {
  Value *parents, *tokens;
};
/// Shows the candidates to the host, and leaves the beams that go on to the next run. `ends`:
/// i32[sentences,kEndTokens].
NextBeams leave_beams(BlockBuilder& b, const Candidates& found, Value* faults, const TokenChoice& choice,
                      Value* ends, const Dim& beams);
/// f32[B,V] to the candidates of each sentence and, of these, its next beams.
void choose_beams(BlockBuilder& b, Value* logits, const TokenChoice& choice, Value* ends,
                  const Dim& sentences, const Dim& beams);
/// A token of each row by its scores, f32[B,V], -1 where there is none.
Value* drawn_tokens(GraphBuilder& g, Value* scores, const TokenChoice& choice, Value* place);
/// Leaves the tokens to the next run, and shows them to the host with their probabilities by the logits.
/// Gives the tokens that the next run reads.
Value* leave_tokens(BlockBuilder& b, Value* logits, Value* token, const TokenChoice& choice, Value* place);
/// f32[B,V] to a token a row, and the states that the next run reads but kNextPast.
void choose_tokens(BlockBuilder& b, Value* logits, const TokenChoice& choice);

}  // namespace smelt
