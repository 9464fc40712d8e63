// Builds the forward graphs of a Module from a TransformerSpec.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "frontend/transformer_spec.h"
#include "ir/graph/graph.h"
#include "runtime/engine/adapters/lora_config.h"

namespace smelt {

/// Codes of cached keys and values: none, or the numbers of i8 from -127 to 127, or of f8e4m3.
enum class CacheCodes : uint8_t { none, int8, fp8 };

/// Options of build_transformer: sizes, and the entries and inputs to build.
struct BuildOptions {
  /// Mesh of the ranks that run the model together: those along the axis "model" share its parameters and
  /// caches (frontend/tensor_parallel.h).
  Mesh mesh = {};
  /// Upper bounds of symbolic sizes and of products of them. The default of B (batch) is 8. The default of T
  /// (length) and S (length of an encoder-decoder's source) is the model's max_positions, or 512 if it has
  /// none. The default of C (texts of which one is chosen) is 4.
  std::vector<Symbols::Bound> bounds = {};
  /// Replaces all dropout probabilities of the spec but spec.dropout.block; spec.dropout.activation is
  /// replaced only if it is above 0.
  std::optional<double> dropout = std::nullopt;
  std::optional<double> layer_dropout = std::nullopt;    // replaces spec.dropout.block
  std::optional<double> label_smoothing = std::nullopt;  // replaces spec.criterion.label_smoothing
  bool training = true;        // build @loss and @evaluate; false: only @logits and the cached entries
  bool hidden_states = false;  // @logits also returns the hidden states (see build_transformer)
  /// Whether an input attention_mask exists. nullopt: it exists if the model has an encoder. Models of images
  /// have none.
  std::optional<bool> attention_mask = std::nullopt;
  bool position_ids = false;  // an input position_ids exists: the position of each token
  bool segment_ids = false;   // an input segment_ids exists: rows hold several consecutive documents
  /// Whether the entries with caches (see build_transformer) exist. nullopt: they exist if the model
  /// generates text and no other option excludes them.
  std::optional<bool> caches = false;
  /// Type of cached keys and values as they are computed with: f32, bf16 or f16.
  DType cache_type = DType::f32;
  /// Storage of cached keys and values: as computed with, or codes of 8 bits with a scale for each token and
  /// head.
  CacheCodes cache_codes = CacheCodes::none;
  /// Whether entries exist that sample tokens themselves, so that the host need not act between two tokens:
  /// @next and its variants, or @next_pages. Only with caches. nullopt: no.
  std::optional<bool> has_sampler = std::nullopt;
  /// Number of pages of a paged cache, each of kPageTokens tokens; 0: the cache has one row of T tokens for
  /// each of the B rows. Only with caches, and for models without an encoder.
  int64_t cache_pages = 0;
  /// Largest number of tokens in one run of the entry @mixed_pages, which replaces @read_pages, @decode_pages
  /// and @next_pages. If the upper bound of B is larger, that bound is used instead. 0 or nullopt: the plan
  /// has no @mixed_pages. Only with cache_pages and has_sampler.
  std::optional<int64_t> step_tokens = std::nullopt;
  /// Whether the entries @tiled_pages, @next_pages and @next_row replace @mixed_pages. They are faster where
  /// an attention kernel computes the scores of a tile of queries at once.
  bool tiles_prompts = false;
  /// Configuration of low-rank adapters (LoRA), with the linear maps that get an adapter. All parameters of
  /// the model are then frozen, except those that the configuration trains too. nullopt: no adapters.
  std::optional<LoraConfig> lora = std::nullopt;
  /// Number of slots for low-rank adapters that are loaded while the plan is in use, and the largest rank of
  /// such an adapter. Each row of the entries with caches selects a slot by the input `adapters`. 0: no
  /// slots. Only for decoders with caches.
  int64_t adapters = 0, adapter_rank = 16;
  /// Names of the linear maps with slots, as in LoraConfig::targets; empty: all linear maps of the blocks.
  std::vector<std::string> adapter_targets = {};
  /// The log-probability of a sampled token has the bits that the criterion computes for it
  /// (docs/guides/precision.md).
  bool same_bits = false;
};

/// Builds the graphs, here with their outputs:
///   @loss      loss_sum, token_count (f32[]), computed with dropout
///   @evaluate  the same outputs, without dropout
///   @logits    logits, if the model has a head; else last_hidden_state and, with a pooler, pooler_output.
///              With BuildOptions::hidden_states: all of these, and N + 1 hidden states of a stack of N
///              blocks. hidden.0 has the embeddings, and hidden.i has the result of block i, counted from 1.
///              If norm.final_is_hidden is true, hidden.N has the result of the final norm instead. The
///              hidden states of an encoder before a decoder are encoder_hidden.i
/// and the entries for generation (runtime/plan/decode_contract.def). The number of rows of their caches is
/// the upper bound of B. The number of tokens per row is the upper bound of T, or the upper bound of S for an
/// encoder's output. The graphs have these inputs, i32 unless another type is given:
///   input_ids          [B,T], or [B,S] if an encoder before a decoder reads them
///   pixel_values       f32[B,channels,size,size] instead of ids
///   attention_mask     as input_ids, 0 for padding; optional: all 1
///   token_type_ids     as input_ids; optional: all 0
///   position_ids       as input_ids; -1 means the token's index in its row; optional: all -1
///   segment_ids        as input_ids: a token sees only tokens of the same number, and a decoder has no
///                      target at the last token of a segment; optional: all 0
///   decoder_input_ids  [B,T], only in @logits; @loss uses the labels, shifted to the right
///   labels             [B,T]. A model that classifies has i32[B], f32[B] or f32[B,classes], which the spec's
///                      head.problem determines
/// A decoder without an encoder is trained to predict label t + 1 at position t. Throws one Error with all
/// parts of the spec that cannot be built.
std::unique_ptr<Module> build_transformer(const TransformerSpec& spec, const BuildOptions& options);

/// Returns whether build_transformer builds the entries with caches.
bool keeps_caches(const TransformerSpec& spec, const BuildOptions& options);

/// Returns a description of the model for hosts that do not link the frontend. Its JSON text becomes
/// Module::description and Plan::model. Members:
///   family, vocab_size, max_positions, bos_token_id, pad_token_id, decoder_start_token_id,
///   forced_bos_token_id and forced_eos_token_id (null: none), eos_token_id (a list), ignore_index, tokenizer
///   ("bytes" or "none"), head_tied, ignored_tensors (checkpoint tensors to ignore; {} stands for a block
///   number), spec, config (the object of config.json, or null), generation (the object of
///   generation_config.json)
Json describe_model(const TransformerSpec& spec, const Json& config, const Json& generation);

}  // namespace smelt
