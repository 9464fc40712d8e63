#include "runtime/engine/generation/row_candidates.h"

#include <algorithm>

#include "runtime/engine/generation/beam_search.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {
namespace {

/// Returns whether the options may change the scores of any number of tokens, or raise one.
bool changes_any_score(const GenerationOptions& options) {
  return options.repetition_penalty != 1 || options.encoder_repetition_penalty != 1 ||
         options.presence_penalty != 0 || options.frequency_penalty != 0 ||
         options.no_repeat_ngram_size > 0 || options.encoder_no_repeat_ngram_size > 0 ||
         options.remove_invalid_values || options.exponential_decay_length_penalty ||
         !options.allowed_token_ids.empty() ||
         std::ranges::any_of(options.sequence_bias, [](const SequenceBias& each) { return each.bias > 0; });
}

/// Returns the most tokens that the options may forbid or disfavour at a position.
int64_t most_lowered(const GenerationOptions& options) {
  return std::ssize(options.sequence_bias) + std::ssize(options.bad_words_ids) +
         std::ssize(options.suppress_tokens) + std::ssize(options.begin_suppress_tokens) +
         (options.min_new_tokens > 0 || options.min_length > 0 ? std::ssize(options.eos_token_id) : 0);
}

}  // namespace

int64_t considered_candidates(const GenerationOptions& options) {
  return kept_continuations(options) + most_lowered(options);
}

bool candidates_suffice(const GenerationOptions& options) {
  return options.greedy() && options.num_beam_groups == 1 && options.diverse_lambda == 0 &&
         !changes_any_score(options) && considered_candidates(options) <= kBeamCandidates;
}

}  // namespace smelt
