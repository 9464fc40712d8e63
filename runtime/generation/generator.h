// Text, or token ids, from a plan's `logits` entry: one whole forward run a token.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/generation/sampling.h"
#include "runtime/session.h"

namespace smelt {

/// Hugging Face's names and defaults.
struct GenerationOptions : SamplingOptions {
  int64_t max_new_tokens = 20;
  std::vector<int32_t> eos_token_id;  // any of them ends a sequence
  uint32_t seed = 0;
  int32_t decoder_start_token_id = 0;          // what a decoder that reads an encoder begins with
  std::optional<int32_t> forced_bos_token_id;  // the first new token of a sequence that has only one so far
  std::optional<int32_t> forced_eos_token_id;  // the last one of max_new_tokens
  /// When a sequence outgrows the plan's length, continues from its last tokens only. Without this it is an
  /// Error.
  bool sliding_window = false;

  void validate() const;
};

/// Reads a generation_config.json (or an old config.json that holds the same fields). Fields that would
/// change the result and are not supported (num_beams > 1, ...) are named in one Error.
void read_generation_config(std::string_view json, GenerationOptions& options);

class Generator {
 public:
  using Tokens = std::vector<int32_t>;
  /// Called with each new token of sequence `index`, as soon as it is chosen.
  using OnToken = std::function<void(size_t index, int32_t token)>;

  /// Checks that the entry takes i32 ids [B,T] and gives f32 logits [B,T,V]. Where it has an input
  /// decoder_input_ids, prompts are what the encoder reads.
  explicit Generator(Session& session, std::string entry = "logits");

  int64_t vocabulary() const { return vocabulary_; }
  int64_t max_batch() const { return max_batch_; }
  int64_t max_length() const { return max_length_; }
  bool reads_source() const { return !source_input_.empty(); }

  /// The new tokens of each prompt (an end-of-sequence token included). Prompts of equal length run as one
  /// batch. Deterministic: a sequence depends on its prompt, its index and the seed, not on its neighbours.
  /// `masks`, where given, hold a 0 for every token of a prompt that is padding; the entry must have an
  /// attention_mask.
  std::vector<Tokens> generate(std::span<const Tokens> prompts, const GenerationOptions& options,
                               const OnToken& on_token = {}, std::span<const Tokens> masks = {});

 private:
  struct Sequence;
  void check_prompt(const Tokens& prompt, size_t index, const GenerationOptions& options) const;
  Sequence begin(const Tokens& prompt, size_t index, const GenerationOptions& options,
                 std::span<const Tokens> masks) const;
  void check_forced(const GenerationOptions& options) const;
  void add_sources(std::span<Sequence*> batch, std::vector<InputTensor>& inputs);
  void advance(std::span<Sequence*> batch, const GenerationOptions& options, const OnToken& on_token);
  void run_batch(std::span<Sequence*> batch, const GenerationOptions& options, const OnToken& on_token);

  Session& session_;
  std::string entry_;
  std::string input_, output_, source_input_, mask_input_;
  int64_t vocabulary_ = 0, max_batch_ = 0, max_length_ = 0;
  std::vector<int32_t> ids_, source_, mask_;
  std::vector<float> logits_;
};

/// The bytes of a text as tokens, for a model trained on bytes: one with a vocabulary of 256. Throws Error
/// for any other vocabulary, saying that its tokenizer is not part of Smelt and that token ids are taken
/// instead.
std::vector<int32_t> encode_bytes(std::string_view text, int64_t vocabulary);
std::string decode_bytes(std::span<const int32_t> tokens);
/// "15496, 11, 995" or "15496 11 995"; throws Error naming the part that is not a number.
std::vector<int32_t> parse_token_ids(std::string_view text);

}  // namespace smelt
