#include "runtime/engine/generation/logits_processors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace smelt {
namespace {

struct Step {
  const GenerationOptions& options;
  const History& history;
  std::span<double> scores;

  /// A source may have tokens of another vocabulary.
  bool has_score(int32_t token) const { return token >= 0 && static_cast<size_t>(token) < scores.size(); }
  size_t new_tokens() const { return history.tokens.size() - history.prompt_length; }
  double& score(int32_t token) const { return scores[static_cast<size_t>(token)]; }
  void ban(std::span<const int32_t> tokens) const {
    for (const int32_t token : tokens) score(token) = kBanned;
  }
  /// Leaves these tokens alone, all equal.
  void force(std::span<const int32_t> tokens) const {
    std::ranges::fill(scores, kBanned);
    for (const int32_t token : tokens) score(token) = 0;
  }
  /// Returns whether the sequence ends with all of `tokens` but the last, which would complete them. As in
  /// transformers, a phrase of several tokens counts in sequences of at least its own length.
  bool would_complete(std::span<const int32_t> tokens) const {
    const auto prefix = tokens.first(tokens.size() - 1);
    return prefix.empty() || (tokens.size() <= history.tokens.size() &&
                              std::ranges::equal(history.tokens.last(prefix.size()), prefix));
  }
};

/// Biases and penalties are of f32 and round as f32 does: in transformers, and where a graph chooses tokens.
float as_f32(double x) { return static_cast<float>(x); }

/// As in transformers, the biases of a token are added up, those of it alone first.
void add_biases(const Step& step) {
  std::map<int32_t, float> sums;
  for (const bool several : {false, true})
    for (const SequenceBias& row : step.options.sequence_bias)
      if ((row.tokens.size() > 1) == several && step.would_complete(row.tokens))
        sums[row.tokens.back()] += as_f32(row.bias);
  for (const auto& [token, sum] : sums) step.score(token) = as_f32(step.score(token)) + sum;
}

/// Penalizes each token once, however often it occurs.
void penalize(const Step& step, std::span<const int32_t> tokens, double penalty) {
  if (penalty == 1) return;
  std::vector<bool> seen(step.scores.size());
  for (const int32_t token : tokens) {
    if (!step.has_score(token) || seen[static_cast<size_t>(token)]) continue;
    seen[static_cast<size_t>(token)] = true;
    double& score = step.score(token);
    const float before = as_f32(score), factor = as_f32(penalty);
    score = before < 0 ? before * factor : before / factor;
  }
}

void favour_source(const Step& step) {
  penalize(step, step.history.source, 1 / step.options.encoder_repetition_penalty);
}

void penalize_repetition(const Step& step) {
  const auto tokens = step.history.tokens.subspan(step.history.padding);
  penalize(step, tokens, step.options.repetition_penalty);
}

/// Applies OpenAI's penalties to the new tokens, in f32.
void penalize_new_tokens(const Step& step) {
  const float presence = as_f32(step.options.presence_penalty);
  const float frequency = as_f32(step.options.frequency_penalty);
  if (presence == 0 && frequency == 0) return;
  std::map<int32_t, int64_t> counts;
  for (const int32_t token : step.history.tokens.subspan(step.history.prompt_length)) ++counts[token];
  for (const auto& [token, count] : counts)
    if (step.has_score(token))
      step.score(token) = as_f32(step.score(token)) - frequency * static_cast<float>(count) - presence;
}

/// Bans every token that would repeat an n-gram of `text`.
void ban_ngrams(const Step& step, std::span<const int32_t> text, int64_t size) {
  const auto n = static_cast<size_t>(size);
  const auto tokens = step.history.tokens;
  if (n == 0 || text.size() < n || tokens.size() + 1 < n) return;
  const auto prefix = tokens.last(n - 1);
  for (size_t i = 0; i + n <= text.size(); ++i)
    if (step.has_score(text[i + n - 1]) && std::ranges::equal(text.subspan(i, n - 1), prefix))
      step.score(text[i + n - 1]) = kBanned;
}

void ban_repeated_ngrams(const Step& step) {
  ban_ngrams(step, step.history.tokens, step.options.no_repeat_ngram_size);
}

void ban_source_ngrams(const Step& step) {
  ban_ngrams(step, step.history.source, step.options.encoder_no_repeat_ngram_size);
}

/// An end token alone is never a bad word.
void ban_words(const Step& step) {
  for (const std::vector<int32_t>& word : step.options.bad_words_ids)
    if (!(word.size() == 1 && step.options.ends(word[0])) && step.would_complete(word))
      step.score(word.back()) = kBanned;
}

void hold_back_ends(const Step& step) {
  const auto fewest = static_cast<size_t>(step.options.min_new_tokens);
  const auto shortest = fewest > 0 ? size_t{0} : static_cast<size_t>(step.options.min_length);
  if (step.new_tokens() < fewest || step.history.tokens.size() < shortest)
    step.ban(step.options.eos_token_id);
}

void force_first(const Step& step) {
  if (step.options.forced_bos_token_id && step.history.tokens.size() == 1)
    step.force(std::span(&*step.options.forced_bos_token_id, 1));
}

void force_last(const Step& step) {
  const bool last = static_cast<int64_t>(step.new_tokens()) + 1 == step.options.max_new_tokens;
  if (last && !step.options.forced_eos_token_id.empty()) step.force(step.options.forced_eos_token_id);
}

void remove_invalid(const Step& step) {
  if (!step.options.remove_invalid_values) return;
  constexpr double kMost = std::numeric_limits<float>::max();
  for (double& score : step.scores) score = std::isnan(score) ? 0 : std::clamp(score, -kMost, kMost);
}

void raise_ends(const Step& step) {
  if (!step.options.exponential_decay_length_penalty) return;
  const auto [start, factor] = *step.options.exponential_decay_length_penalty;
  const auto beyond = static_cast<int64_t>(step.new_tokens()) - start;
  if (beyond <= 0) return;
  const float growth = as_f32(std::pow(factor, static_cast<double>(beyond)) - 1);
  std::vector<int32_t> ends = step.options.eos_token_id;
  std::ranges::sort(ends);
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  for (const int32_t token : ends) {
    const float score = as_f32(step.score(token)), more = std::abs(score) * growth;
    if (std::isfinite(score)) step.score(token) = score + more;
  }
}

void suppress(const Step& step) { step.ban(step.options.suppress_tokens); }

/// Bans all tokens except those that are allowed.
void ban_others(const Step& step) {
  if (step.options.allowed_token_ids.empty()) return;
  std::vector<double> kept(step.scores.size(), kBanned);
  for (const int32_t token : step.options.allowed_token_ids)
    kept[static_cast<size_t>(token)] = step.score(token);
  std::ranges::copy(kept, step.scores.begin());
}

/// Behind a first token that is forced, the second is the first that is chosen.
void suppress_first(const Step& step) {
  const bool forced = step.history.prompt_length == 1 && step.options.forced_bos_token_id;
  if (step.new_tokens() == (forced ? 1U : 0U)) step.ban(step.options.begin_suppress_tokens);
}

/// Lowers the score of a token once for each beam that has chosen it.
void keep_groups_apart(const Step& step) {
  for (const int32_t token : step.history.chosen_before)
    if (step.has_score(token)) step.score(token) -= step.options.diversity_penalty;
}

constexpr void (*kProcessors[])(const Step&) = {add_biases,          keep_groups_apart,
                                                favour_source,       penalize_repetition,
                                                penalize_new_tokens, ban_repeated_ngrams,
                                                ban_source_ngrams,   ban_words,
                                                hold_back_ends,      force_first,
                                                force_last,          remove_invalid,
                                                raise_ends,          suppress,
                                                suppress_first,      ban_others};

}  // namespace

void process_scores(const GenerationOptions& options, const History& history, std::span<double> scores) {
  for (const auto process : kProcessors) process({options, history, scores});
}

}  // namespace smelt
