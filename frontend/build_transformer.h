// Builds the forward graphs of a Module from a TransformerSpec.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "frontend/lora_config.h"
#include "frontend/transformer_spec.h"
#include "ir/graph/graph.h"

namespace smelt {

struct BuildOptions {
  /// Mesh of the ranks that run the model together: those along the axis "model" share its parameters and
  /// caches (frontend/tensor_parallel.h).
  Mesh mesh = {};
  /// Upper bounds of symbols and products of them. B (batch) and T (length) have defaults: 8, and the model's
  /// own maximum or 512.
  std::vector<Symbols::Bound> bounds = {};
  /// Replaces every dropout probability of the spec.
  std::optional<double> dropout = std::nullopt;
  bool training = true;        // @loss and @evaluate; false leaves @logits alone, for generation
  bool hidden_states = false;  // @logits also gives last_hidden_state, pooler_output, hidden.0 ... hidden.N
  /// True: an input attention_mask exists; by default models with an encoder have one.
  std::optional<bool> attention_mask = std::nullopt;
  bool position_ids = false;  // an input of that name: the position of each token
  bool segment_ids = false;   // an input of that name: rows hold consecutive documents
  /// True: the entries with caches (below) exist; by default they exist if the model generates and no other
  /// option excludes them.
  std::optional<bool> caches = false;
  DType cache_type = DType::f32;  // of cached keys and values
  /// With caches, true: @next or @next_pages exists, which needs no host between two tokens; by default: no.
  std::optional<bool> has_sampler = std::nullopt;
  /// With caches, for a decoder alone: number of pages of kPageTokens tokens, instead of a row of T tokens
  /// for each of B; 0: no pages.
  int64_t cache_pages = 0;
  /// Adapters that are added to the linear maps that it targets; all parameters are then frozen except those
  /// that it trains.
  std::optional<LoraConfig> lora = std::nullopt;
};

/// Builds the graphs
///   @loss      with dropout: loss_sum, token_count (f32[])
///   @evaluate  the same without dropout
///   @logits    logits; for a model without a head last_hidden_state and, with a pooler, pooler_output;
///              on request hidden.0 (embeddings), hidden.i (after block i), hidden.N (the last one,
///              after the final norm), and encoder_hidden.i of an encoder before a decoder
/// and, with caches of as many rows and tokens as B, T and S may have, the entries for generation
/// (runtime/plan/decode_contract.def); over inputs, i32 by default:
///   input_ids          [B,T], or [B,S] before a decoder
///   pixel_values       f32[B,channels,size,size] instead of ids
///   attention_mask     as input_ids, 0 for padding; optional: all 1
///   token_type_ids     as input_ids; optional: all 0
///   position_ids       as input_ids, -1 for a token's position in its row; optional: all -1
///   segment_ids        as input_ids: tokens see those of the same number alone, and a decoder is taught no
///                      label after the end of a segment; optional: all 0
///   decoder_input_ids  [B,T], of @logits; in @loss it is the labels, shifted to the right
///   labels             [B,T]; [B] of models that classify, or f32 [B] or [B,classes] by head.problem
/// A decoder alone is trained to predict label t + 1 at position t. Throws one Error with all parts of the
/// spec that cannot be built.
std::unique_ptr<Module> build_transformer(const TransformerSpec& spec, const BuildOptions& options);

/// Returns whether build_transformer makes the entries with caches.
bool keeps_caches(const TransformerSpec& spec, const BuildOptions& options);

/// Describes the model for hosts without the frontend, as JSON; becomes Module::description and Plan::model:
///   family, vocab_size, max_positions, bos_token_id, pad_token_id, decoder_start_token_id (or null),
///   eos_token_id (a list), ignore_index, tokenizer ("bytes" or "none"), head_tied, ignored_tensors
///   (checkpoint tensors to ignore, {} is a number), spec, config (an object for config.json, or null),
///   generation (generation_config.json's object)
Json describe_model(const TransformerSpec& spec, const Json& config, const Json& generation);

}  // namespace smelt
