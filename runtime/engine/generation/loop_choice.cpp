#include "runtime/engine/generation/loop_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/engine/generation/beam_search.h"
#include "runtime/plan/decode_contract.h"
#include "runtime/system/log.h"

namespace smelt {
namespace {

bool has_phrases(const GenerationOptions& options) {
  return std::ranges::any_of(options.sequence_bias,
                             [](const auto& bias) { return bias.tokens.size() > 1; }) ||
         std::ranges::any_of(options.bad_words_ids, [](const auto& word) { return word.size() > 1; });
}

bool forces_what_is_suppressed(const GenerationOptions& options) {
  const auto is_suppressed = [&](int32_t token) {
    return !options.allows(token) || std::ranges::count(options.suppress_tokens, token) > 0 ||
           std::ranges::count(options.begin_suppress_tokens, token) > 0;
  };
  return std::ranges::any_of(options.forced_eos_token_id, is_suppressed) ||
         (options.forced_bos_token_id && is_suppressed(*options.forced_bos_token_id));
}

/// Returns the name of a penalty that counts new tokens, which no entry can process; empty if there is none.
std::string new_token_penalty(const GenerationOptions& options) {
  if (options.presence_penalty != 0) return "presence_penalty";
  return options.frequency_penalty != 0 ? "frequency_penalty" : "";
}

/// Returns why no entry can process the scores, for every kind of sampler; repetition_penalty is not
/// examined.
std::string plain_scores_refuse(const GenerationOptions& options) {
  const size_t held_back = options.eos_token_id.size() + options.begin_suppress_tokens.size();
  if (options.sliding_window) return "sliding_window";
  if (std::string name = new_token_penalty(options); !name.empty()) return name;
  if (options.no_repeat_ngram_size > 0) return "no_repeat_ngram_size looks for something in the text";
  if (options.encoder_no_repeat_ngram_size > 0)
    return "encoder_no_repeat_ngram_size looks for something in the text";
  if (options.encoder_repetition_penalty != 1)
    return "encoder_repetition_penalty looks for something in the text";
  if (options.remove_invalid_values) return "remove_invalid_values";
  if (options.exponential_decay_length_penalty) return "exponential_decay_length_penalty";
  if (has_phrases(options)) return "sequence_bias or bad_words_ids of several tokens";
  if (forces_what_is_suppressed(options)) return "a forced token is suppressed";
  if (held_back > static_cast<size_t>(kHeldBackTokens))
    return "more than 16 tokens are ends or suppressed at the beginning";
  if (options.forced_eos_token_id.size() > 1) return "several tokens are forced at the end";
  return "";
}

std::string plain_beams_refuse(const GenerationOptions& options) {
  if (options.repetition_penalty != 1) return "repetition_penalty in a beam search";
  if (options.diverse_lambda != 0) return "diverse_lambda";
  return plain_scores_refuse(options);
}

/// Returns why no entry can do the beam search; empty if one can.
std::string beams_refuse(const GenerationOptions& options, int64_t max_batch) {
  const int64_t kept = kept_continuations(options);
  if (options.num_beams > max_batch) return "more beams than the plan has rows";
  if (options.num_beams > kMostBeamsAhead) return fmt::format("more than {} beams", kMostBeamsAhead);
  if (kept > kBeamCandidates)
    return fmt::format("more than {} continuations to look at (beams times 1 + end tokens)", kBeamCandidates);
  if (!options.greedy()) return "do_sample in a beam search";
  if (options.num_beam_groups > 1) return "num_beam_groups";
  return "";
}

/// Returns that more phrases have a bias than a plan supports, if so; empty otherwise.
std::string biases_refuse(const std::vector<SequenceBias>& biases) {
  std::map<int32_t, int64_t> in_token;
  int64_t phrases = 0, most = 0, longest = 0;
  for (const SequenceBias& bias : biases) {
    if (bias.tokens.size() == 1) continue;
    ++phrases, longest = std::max(longest, std::ssize(bias.tokens));
    most = std::max(most, ++in_token[bias.tokens.back()]);
  }
  if (longest > kPhraseTokens) return fmt::format("sequence_bias of more than {} tokens", kPhraseTokens);
  if (phrases > kBiasedPhrases) return fmt::format("more than {} phrases in sequence_bias", kBiasedPhrases);
  if (most > kBiasesOfToken)
    return fmt::format("more than {} phrases of sequence_bias end in one token", kBiasesOfToken);
  return "";
}

std::string bans_refuse(const std::vector<std::vector<int32_t>>& words) {
  int64_t phrases = 0, longest = 0;
  for (const std::vector<int32_t>& word : words)
    phrases += word.size() > 1 ? 1 : 0, longest = std::max(longest, std::ssize(word));
  if (longest > kPhraseTokens) return fmt::format("bad_words_ids of more than {} tokens", kPhraseTokens);
  if (phrases > kBannedPhrases) return fmt::format("more than {} phrases in bad_words_ids", kBannedPhrases);
  return "";
}

SamplerKind sampler_of(const std::string& plain, const std::string& guided, const char* entry) {
  if (plain.empty()) return SamplerKind::plain;
  return is_taken(entry, guided) ? SamplerKind::guided : SamplerKind::host;
}

/// Returns why the host samples: the refusal of the guided entry if the plan has it, otherwise `plain`.
std::string refusal_of(const DecodeInterface& decode, bool has_guided, const std::string& plain,
                       const GenerationOptions& options, const LongestText& longest) {
  if (!has_guided) return plain;
  return guided_choice_refuses({decode.text_capacity, decode.source_text_capacity}, options, longest);
}

}  // namespace

bool is_taken(const char* entry, const std::string& refusal) {
  if (!refusal.empty())
    log(LogLevel::info, "the host chooses tokens, not the entry '{}': {}", entry, refusal);
  return refusal.empty();
}

std::string plain_choice_refuses(const GenerationOptions& options) {
  return options.num_beams == 1 ? plain_scores_refuse(options) : "num_beams";
}

std::string plain_search_refuses(const GenerationOptions& options, int64_t rows) {
  const std::string both = beams_refuse(options, rows);
  return both.empty() ? plain_beams_refuse(options) : both;
}

std::string guided_choice_refuses(const LongestText& room, const GenerationOptions& options,
                                  const LongestText& longest) {
  if (options.sliding_window) return "sliding_window";
  if (std::string name = new_token_penalty(options); !name.empty()) return name;
  for (const auto& [name, size] : {std::pair("no_repeat_ngram_size", options.no_repeat_ngram_size),
                                   {"encoder_no_repeat_ngram_size", options.encoder_no_repeat_ngram_size}})
    if (size > kMostNgram) return fmt::format("{} above {}", name, kMostNgram);
  if (longest.tokens > room.tokens || longest.source > room.source)
    return "a prompt with its padding is longer than the plan's rows";
  const std::string refusal = biases_refuse(options.sequence_bias);
  return refusal.empty() ? bans_refuse(options.bad_words_ids) : refusal;
}

SamplerKind sampler_of_tokens(const DecodeInterface& decode, const GenerationOptions& options,
                              const LongestText& longest) {
  if (!decode.samplers.tokens) return SamplerKind::host;
  const std::string plain = plain_choice_refuses(options);
  return sampler_of(plain, refusal_of(decode, decode.samplers.tokens_by_text, plain, options, longest),
                    entry::next);
}

SamplerKind sampler_of_beams(const DecodeInterface& decode, const GenerationOptions& options,
                             const LongestText& longest) {
  if (!decode.samplers.beams) return SamplerKind::host;
  const std::string both = beams_refuse(options, static_cast<int64_t>(decode.rows));
  if (!both.empty()) return sampler_of(both, both, entry::next_beams);
  const std::string plain = plain_beams_refuse(options);
  return sampler_of(plain, refusal_of(decode, decode.samplers.beams_by_text, plain, options, longest),
                    entry::next_beams);
}

}  // namespace smelt
