// Generation of tokens by a plan. If the plan has entries with KV caches, each run reads one more token per
// sequence. Otherwise each run of the entry `logits` reads the whole sequences again.
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
  /// Called with each new token of sequence `index`, as soon as the token is chosen. If it returns false,
  /// generation stops, and the results are the tokens of the calls so far. A beam search may replace tokens,
  /// so it calls the function only after it has ended, and cannot be stopped.
  using OnToken = std::function<bool(size_t index, int32_t token)>;
  /// Log-probability of each new token of each sequence, by the model's logits before the options change
  /// them.
  using LogProbabilities = std::vector<std::vector<float>>;
  /// Called with the results for prompt number `prompt` as soon as its search has ended. Not called if
  /// max_new_tokens is 0.
  using OnFound = std::function<void(size_t prompt, std::span<const Hypothesis> found)>;

  /// `entry` is the entry that computes logits; NextLogits checks it. An empty name selects decode, or logits
  /// if the plan has no caches. If the model has an encoder, prompts are the encoder's inputs. Throws Error
  /// if the model does not write text.
  explicit Generator(Session& session, std::string entry = "");

  int64_t vocabulary() const { return model_.vocabulary(); }
  int64_t max_batch() const { return model_.max_batch(); }    // sequences per run
  int64_t max_length() const { return model_.max_length(); }  // tokens per sequence that the model reads
  /// Returns whether the model has an encoder.
  bool reads_source() const { return model_.reads_source(); }

  /// Returns the new tokens of each sequence, including the end token. There are num_return_sequences
  /// sequences for each prompt; those of a beam search are in the order of their scores, best first. With
  /// caches, prompts of different lengths run in one batch; without caches, only prompts of equal length do.
  /// A sequence depends only on its prompt, its index and the seed, not on the other sequences. `masks` is
  /// empty, or has one mask per prompt, with a 0 for each token that is padding. A model without an encoder
  /// does not read padding. An encoder masks it, which requires an input attention_mask unless the padding is
  /// at the end. `log_probabilities`, if not null, is set. For a beam search it must be null, because a beam
  /// search has scores instead (see search).
  std::vector<Tokens> generate(std::span<const Tokens> prompts, const GenerationOptions& options,
                               const OnToken& on_token = {}, std::span<const Tokens> masks = {},
                               LogProbabilities* log_probabilities = nullptr);

  /// Runs a beam search with options.num_beams beams for each prompt. Returns num_return_sequences sequences
  /// per prompt with their scores, best first.
  std::vector<std::vector<Hypothesis>> search(std::span<const Tokens> prompts,
                                              const GenerationOptions& options,
                                              std::span<const Tokens> masks = {},
                                              const OnFound& on_found = {});

  /// Returns the most new tokens that the options allow after this prompt.
  int64_t new_tokens(const Tokens& prompt, const GenerationOptions& options) const;
  /// Throws the Error that generate and search would throw for this prompt. `name` stands for the prompt in
  /// the message.
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
  /// Returns the length of a prompt that must run with prompts of equal length; 0 if any length may be mixed.
  size_t length_of(const Prompt& prompt) const;
  /// Does the same as length_of for a prompt of a beam search that an entry of the plan runs. In a model
  /// without an encoder, the prompts of such searches must have equal lengths.
  size_t tokens_of(const Prompt& prompt) const;
  ModelRow row_of(const Prompt& prompt, const Tokens& tokens) const;
  std::vector<Tokens> draw_all(std::span<const Prompt> prompts, const GenerationOptions& options,
                               const Listener& listener);
  struct HostTokens;
  struct HostBeams;
  /// Generate the tokens of the sequences of `batch`, by the host, or by the entry @next (@next_guided if
  /// `guided`). Return false if the caller's OnToken has stopped the generation.
  bool draw_by_host(std::span<Sequence*> batch, const GenerationOptions& options, const Listener& listener);
  bool advance_ahead(std::span<Sequence*> batch, const GenerationOptions& options, bool guided,
                     const Listener& listener);

  /// Runs whole beam searches by the entry @next_beams (@next_beams_guided if `guided`).
  void finish_ahead(std::span<Sentence*> batch, const GenerationOptions& options, bool guided);

  Session& session_;
  DecodeInterface decode_;
  NextLogits model_;
  // Present if the plan has entries that sample tokens, or choose beams, themselves.
  std::optional<TokenLoop> loop_;
  std::optional<BeamLoop> beam_loop_;
};

/// Returns the bytes of a text as tokens, for a model that was trained on bytes, which has a vocabulary of
/// 256. Throws Error for any other vocabulary; the message says that a tokenizer or token ids are needed.
std::vector<int32_t> encode_bytes(std::string_view text, int64_t vocabulary);
/// Returns the text whose bytes are these tokens. Throws Error for a token outside 0 to 255.
std::string decode_bytes(std::span<const int32_t> tokens);
/// Parses a list of token ids such as "15496, 11, 995" or "15496 11 995". Throws Error naming the part that
/// is not a number.
std::vector<int32_t> parse_token_ids(std::string_view text);

}  // namespace smelt
