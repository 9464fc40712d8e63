// Text, or token ids, from a plan: one more token per run from entries with caches if it has them, else from
// `logits`, which reads the whole sequence again.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/generation/beam_groups.h"
#include "runtime/engine/generation/beam_loop.h"
#include "runtime/engine/generation/beam_search.h"
#include "runtime/engine/generation/generation_options.h"
#include "runtime/engine/generation/next_logits.h"
#include "runtime/engine/generation/token_loop.h"
#include "runtime/session/session.h"

namespace smelt {

class Generator {
 public:
  using Tokens = std::vector<int32_t>;
  /// Called with each new token of sequence `index`, as soon as it is chosen. If it returns false, generation
  /// stops: the results are the tokens that it was called with. A beam search, which may replace tokens,
  /// calls it when all tokens are known and cannot be stopped.
  using OnToken = std::function<bool(size_t index, int32_t token)>;
  /// Log-probability of each new token of each sequence, by the model's own logits before the options change
  /// them.
  using LogProbabilities = std::vector<std::vector<float>>;
  /// Called with the results for a prompt as soon as its search has ended, unless max_new_tokens is 0.
  using OnFound = std::function<void(size_t prompt, std::span<const Hypothesis> found)>;

  /// See NextLogits for the requirements on the entry. An empty name selects decode, or logits if the plan
  /// has no caches. If the entry reads a source, prompts are the encoder's inputs.
  explicit Generator(Session& session, std::string entry = "");

  int64_t vocabulary() const { return model_.vocabulary(); }
  int64_t max_batch() const { return model_.max_batch(); }
  int64_t max_length() const { return model_.max_length(); }
  bool reads_source() const { return model_.reads_source(); }

  /// The new tokens (an end-of-sequence token included), num_return_sequences of them for each prompt, best
  /// first where they have scores. With caches prompts of any lengths run as one batch, without them those of
  /// equal length. Deterministic: a sequence depends on its prompt, its index and the seed, not on its
  /// neighbours. `masks`, where given, hold a 0 for every token of a prompt that is padding. A decoder alone
  /// does not read it; an encoder passes over it, for which the entry must have an attention_mask.
  /// `log_probabilities`, where given, is written; a beam search has scores instead (see search).
  std::vector<Tokens> generate(std::span<const Tokens> prompts, const GenerationOptions& options,
                               const OnToken& on_token = {}, std::span<const Tokens> masks = {},
                               LogProbabilities* log_probabilities = nullptr);

  /// Runs a beam search with options.num_beams beams for each prompt. Returns num_return_sequences sequences
  /// per prompt with their scores, best first.
  std::vector<std::vector<Hypothesis>> search(std::span<const Tokens> prompts,
                                              const GenerationOptions& options,
                                              std::span<const Tokens> masks = {},
                                              const OnFound& on_found = {});

  /// Returns the most tokens that may follow this prompt.
  int64_t new_tokens(const Tokens& prompt, const GenerationOptions& options) const;
  /// Throws the Error that generate and search would throw of this prompt, which it calls `name`.
  void check(const Tokens& prompt, const std::string& name, const GenerationOptions& options) const;

 private:
  struct Prompt;
  struct Sequence;
  struct Sentence;
  struct Listener;
  std::vector<Prompt> read_prompts(std::span<const Tokens> prompts, const GenerationOptions& options,
                                   std::span<const Tokens> masks) const;
  Prompt read_source(const Tokens& source, const std::string& name, const GenerationOptions& options,
                     const Tokens& mask) const;
  Prompt read_prompt(const Tokens& prompt, const std::string& name, const GenerationOptions& options,
                     const Tokens& mask) const;
  void check_length(const Prompt& prompt, const std::string& name, const GenerationOptions& options) const;
  size_t length_of(const Prompt& prompt) const;
  size_t tokens_of(const Prompt& prompt) const;
  ModelRow row_of(const Prompt& prompt, const Tokens& tokens) const;
  std::vector<Tokens> draw_all(std::span<const Prompt> prompts, const GenerationOptions& options,
                               const Listener& listener);
  struct HostTokens;
  struct HostBeams;
  bool draw_by_host(std::span<Sequence*> batch, const GenerationOptions& options, const Listener& listener);
  bool advance_ahead(std::span<Sequence*> batch, const GenerationOptions& options, bool guided,
                     const Listener& listener);

  void finish_ahead(std::span<Sentence*> batch, const GenerationOptions& options, bool guided);

  Session& session_;
  DecodeInterface decode_;
  NextLogits model_;
  // Set if the plan samples tokens itself.
  std::optional<TokenLoop> loop_;
  std::optional<BeamLoop> beam_loop_;
};

/// Returns the bytes of a text as tokens, for a model trained on bytes: one with a vocabulary of 256. Throws
/// Error for any other vocabulary, saying that a tokenizer is needed and that token ids are taken instead.
std::vector<int32_t> encode_bytes(std::string_view text, int64_t vocabulary);
std::string decode_bytes(std::span<const int32_t> tokens);
/// "15496, 11, 995" or "15496 11 995"; throws Error naming the part that is not a number.
std::vector<int32_t> parse_token_ids(std::string_view text);

}  // namespace smelt
