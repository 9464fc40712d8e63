// Functions that build the part of a graph that samples the next token of every row from its logits. The host
// then does not sample. The entries next and next_pages use sample_tokens; the entry next_beams uses
// choose_beams. runtime/plan/decode_contract.def defines their inputs and states, and decode_contract.h the
// limits. B is the batch (number of rows), V the vocabulary.
#pragma once

#include <functional>

#include "frontend/blocks/blocks.h"
#include "runtime/plan/decode_contract.h"
namespace smelt {

/// Inputs of the sampler. Each has one element, or one row of elements, per row of the batch. For a beam
/// search, the rows of the batch are the beams of all sentences.
struct TokenChoice {
  Value* rows = nullptr;   // i32[B]: the slot of each row in the states
  bool any_slots = false;  // false: the slots are 0 ... B-1
  Value* past = nullptr;   // i32[B]: number of tokens of each row before the token that this run reads
  /// Inputs of these names in decode_contract.def; null if the entry does not have them. A token of
  /// `held_back` may not be sampled before its position in `held_back_until`. At a position in `forced_at`,
  /// only the token of `forced` may be sampled.
  Value *numbers = nullptr, *integers = nullptr, *penalty = nullptr;
  Value *held_back = nullptr, *held_back_until = nullptr, *forced = nullptr, *forced_at = nullptr;
  Value* allowed = nullptr;  // u8[B,bytes], a bit for each token that may be sampled; null: all may
};

/// Adds all inputs of the sampler to the graph. `rows`, `past`: as in TokenChoice.
TokenChoice token_choice_inputs(BlockBuilder& b, Value* rows, Value* past);
/// Adds only the inputs of a random draw, `numbers` (such as the temperature) and `integers`; the members for
/// penalties and for held-back or forced tokens are null.
TokenChoice drawing_inputs(BlockBuilder& b, Value* rows, Value* past);
/// Adds an input of the decode contract to the graph; `sizes` are the extents that its shape refers to.
Value* decode_input(BlockBuilder& b, const DecodePort& port, const Extents& sizes);
/// Adds an input of token ids, in which -1 means no token. The parameters are those of decode_input.
Value* tokens_or_none(BlockBuilder& b, const DecodePort& port, const Extents& sizes);
/// Declares states of the decode contract for plans of these sizes.
void declare_states(BlockBuilder& b, const Extents& sizes,
                    std::initializer_list<std::reference_wrapper<const DecodeState>> states);
/// Declares the states of sampled tokens (those named "next." in decode_contract.def, except next.past and
/// next.logits) for `slots` rows of `capacity` tokens.
void declare_token_states(BlockBuilder& b, int64_t slots, int64_t capacity);
/// Adds inputs for the biases and penalties of one slot, and stores their values in the states. They apply to
/// the row that begins in that slot next.
void begin_choice(BlockBuilder& b);
/// Declares the additional states of a beam search (those named "beams.").
void declare_beam_states(BlockBuilder& b, int64_t slots, int64_t capacity);
/// Stores the states of rows that begin with one token each, which the next run reads. `slots`, i32[B]: the
/// slot of each row; -1: it is padding. `tokens`, i32[B,1]. `sums`, f32[B]: see port::sums. `capacity`:
/// tokens of a row of the states.
void begin_beams(BlockBuilder& b, Value* slots, Value* tokens, Value* sums, int64_t capacity);
/// Returns the first `rows` rows of an integer state [slots,...], with its elements clamped to [0, below).
Value* rows_of_state(BlockBuilder& b, std::string_view name, const Dim& rows, int64_t below);

/// Returns column i, of shape [B], of a table [B,columns].
Value* column(GraphBuilder& g, Value* x, int64_t i);
/// Returns `index`, clamped to [0, below), so that kernels need not check it.
Value* within(GraphBuilder& g, Value* index, int64_t below);
/// Appends `count` dims of size 1 to the shape of x. GraphBuilder::insert needs this shape if it inserts
/// single elements.
Value* with_ones(GraphBuilder& g, Value* x, int64_t count = 1);
/// Writes `rows` to the first rows of a state.
void put_rows(GraphBuilder& g, std::string_view state, Value* rows);
/// Returns, for each row of the batch, the row of the state in its slot (choice.rows).
Value* of_rows(GraphBuilder& g, std::string_view state, const TokenChoice& choice);
/// `top`: maximum of each row of logits f32[B,V]. `log`: log(sum of exp(logit - top)) of each row. Both
/// f32[B]. A log-probability is computed as (logit - top) - log, because this order has the smaller rounding
/// error.
struct LogSum {
  Value *top, *log;
};
LogSum log_sum(GraphBuilder& g, Value* logits);
/// Returns scores changed by penalties of the same shape. A score that is at least 0 is divided by its
/// penalty, and a negative score is multiplied by it. A penalty of 0 leaves the score unchanged.
Value* penalised(GraphBuilder& g, Value* scores, Value* penalties);
/// Reshapes f32[B,V] to [B,parts,V/parts], so that reductions over V have more parallelism.
Value* in_parts(GraphBuilder& g, Value* x);
/// Returns scores, f32[B,parts,V/parts] as from in_parts, plus the biases of their rows (state next_bias).
Value* biased(GraphBuilder& g, Value* scores, const TokenChoice& choice);
/// Returns scores, f32[B,parts,V/parts] as from in_parts, with -infinity for the tokens whose bit in
/// `allowed`, u8[B,bytes], is 0.
Value* only_allowed(GraphBuilder& g, Value* scores, Value* allowed);
/// Returns scores f32[B,V] with -infinity for the tokens that may not be sampled (TokenChoice::held_back) at
/// `place`, i32[B], the position of each row's new token. No token is held back at a position with a forced
/// token.
Value* without_held_back(GraphBuilder& g, Value* scores, const TokenChoice& choice, Value* place);

/// Returns i32[B,capacity]: for each row and position, the slot whose KV cache has the token at that position
/// (Cache::row_of_place). The token that this run reads is in the row's own slot.
Value* beam_rows(BlockBuilder& b, const TokenChoice& choice);
/// The best continuations of each sentence, best first, each [sentences, kBeamCandidates]: their sums of
/// log-probabilities, the beam that each continues, and its new token.
struct Candidates {
  Value *sums, *beams, *tokens;
};
/// Returns the best candidates. `sums`, f32[sentences, beams * V], are the sums of log-probabilities of all
/// continuations: each beam followed by each token.
Candidates best_candidates(BlockBuilder& b, Value* sums);
/// The most probable next tokens of each row, best first, [B, kBeamCandidates], and their log-probabilities.
/// A vocabulary that is smaller has -1 and -infinity at the end.
struct BestTokens {
  Value *tokens, *log_probabilities;
};
/// Returns the best next tokens of each row by its logits, f32[B,V].
BestTokens best_tokens(BlockBuilder& b, Value* logits);
/// Returns one number per row, f32[sentences * beams]. The number is NaN if the log-probabilities of the row
/// are NaN, so that no token can be chosen. Else it is any number that is not NaN.
Value* fault_of_sums(GraphBuilder& g, Value* logits);
/// For each of the next beams, i32[sentences * beams]: the slot of the beam that it continues (`parents`),
/// and its new token.
struct NextBeams {
  Value *parents, *tokens;
};
/// Stores the candidates for the host, and the next beams for the next run. Returns the next beams: the best
/// candidates whose new token is not an end token. `faults`: the result of fault_of_sums. If it is NaN for a
/// beam whose sum is not -infinity, the sums of all candidates of this beam's sentence become NaN. `ends`,
/// i32[sentences,kEndTokens]: end tokens of each sentence.
NextBeams leave_beams(BlockBuilder& b, const Candidates& found, Value* faults, const TokenChoice& choice,
                      Value* ends, const Dim& beams);
/// Adds a step of beam search: computes the candidates of each sentence from logits f32[B,V], B = sentences *
/// beams, and from them the next beams, and stores both (leave_beams).
void choose_beams(BlockBuilder& b, Value* logits, const TokenChoice& choice, Value* ends,
                  const Dim& sentences, const Dim& beams);
/// Returns a randomly drawn token of each row, i32[B], by its scores f32[B,V]; -1 if no token can be drawn.
/// `place`, i32[B], is the position of the token, which selects the random number.
Value* drawn_tokens(GraphBuilder& g, Value* scores, const TokenChoice& choice, Value* place);
/// Stores the sampled tokens `token`, i32[B], in a state that the next run reads. Also stores them for the
/// host, at position `place` of each row, with their log-probabilities, which are computed from `logits`,
/// f32[B,V]. Returns the tokens that the next run reads: those of `token`, with 0 instead of -1.
Value* leave_tokens(BlockBuilder& b, Value* logits, Value* token, const TokenChoice& choice, Value* place);
/// Samples a token per row from logits f32[B,V], and stores all states that the next run reads, except
/// state::next_past.
void sample_tokens(BlockBuilder& b, Value* logits, const TokenChoice& choice);

}  // namespace smelt
