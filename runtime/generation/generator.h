// Text, or token ids, from a plan's `logits` entry: one whole forward run a token.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/generation/beam_search.h"
#include "runtime/generation/generation_options.h"
#include "runtime/generation/next_logits.h"
#include "runtime/session.h"

namespace smelt {

class Generator {
 public:
  using Tokens = std::vector<int32_t>;
  /// Called with each new token of sequence `index`, as soon as it is chosen; by a beam search, which
  /// changes its mind, when all are known.
  using OnToken = std::function<void(size_t index, int32_t token)>;

  /// See NextLogits for what the entry must be. Where it reads a source, prompts are what the encoder reads.
  explicit Generator(Session& session, std::string entry = "logits");

  int64_t vocabulary() const { return model_.vocabulary(); }
  int64_t max_batch() const { return model_.max_batch(); }
  int64_t max_length() const { return model_.max_length(); }
  bool reads_source() const { return model_.reads_source(); }

  /// The new tokens (an end-of-sequence token included), num_return_sequences of them for each prompt, best
  /// first where they have scores. Prompts of equal length run as one batch. Deterministic: a sequence
  /// depends on its prompt, its index and the seed, not on its neighbours. `masks`, where given, hold a 0 for
  /// every token of a prompt that is padding. A decoder alone does not read it; an encoder passes over it,
  /// for which the entry must have an attention_mask.
  std::vector<Tokens> generate(std::span<const Tokens> prompts, const GenerationOptions& options,
                               const OnToken& on_token = {}, std::span<const Tokens> masks = {});

  /// What a beam search of options.num_beams finds for each prompt: num_return_sequences sequences with
  /// their scores, best first.
  std::vector<std::vector<Hypothesis>> search(std::span<const Tokens> prompts,
                                              const GenerationOptions& options,
                                              std::span<const Tokens> masks = {});

 private:
  struct Prompt;
  struct Sequence;
  struct Sentence;
  std::vector<Prompt> read_prompts(std::span<const Tokens> prompts, const GenerationOptions& options,
                                   std::span<const Tokens> masks) const;
  Prompt read_source(const Tokens& source, size_t index, const GenerationOptions& options,
                     const Tokens& mask) const;
  Prompt read_prompt(const Tokens& prompt, size_t index, const GenerationOptions& options,
                     const Tokens& mask) const;
  void check_length(const Prompt& prompt, size_t index, const GenerationOptions& options) const;
  ModelRow row_of(const Prompt& prompt, const Tokens& tokens) const;
  void advance(std::span<Sequence*> batch, const GenerationOptions& options, const OnToken& on_token);
  void advance(std::span<Sentence*> batch);

  NextLogits model_;
};

/// The bytes of a text as tokens, for a model trained on bytes: one with a vocabulary of 256. Throws Error
/// for any other vocabulary, saying that its tokenizer is not part of Smelt and that token ids are taken
/// instead.
std::vector<int32_t> encode_bytes(std::string_view text, int64_t vocabulary);
std::string decode_bytes(std::span<const int32_t> tokens);
/// "15496, 11, 995" or "15496 11 995"; throws Error naming the part that is not a number.
std::vector<int32_t> parse_token_ids(std::string_view text);

}  // namespace smelt
