// From a TransformerSpec to the forward graphs of a Module.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "frontend/transformer_spec.h"
#include "ir/graph.h"

namespace smelt {

struct BuildOptions {
  /// Upper bounds of symbols and products of them. B (batch) and T (length) have defaults: 8, and the model's
  /// own maximum or 512.
  std::vector<Symbols::Bound> bounds = {};
  /// Replaces every dropout probability of the spec.
  std::optional<double> dropout = std::nullopt;
  bool training = true;        // @loss and @evaluate; false leaves @logits alone, for generation
  bool hidden_states = false;  // @logits also gives hidden.0 ... hidden.N
};

/// Graphs over input_ids and labels, both i32[B,T]:
///   @loss      with dropout: loss_sum, token_count (f32[])
///   @evaluate  the same without dropout
///   @logits    input_ids alone: logits f32[B,T,V], and hidden.0 (embeddings), hidden.i (after block i),
///   hidden.N
///              (after the last block and the final norm) where asked for
/// Labels are shifted inside: the target of position t is label t + 1. Throws one Error with all parts of the
/// spec that cannot be built.
std::unique_ptr<Module> build_transformer(const TransformerSpec& spec, const BuildOptions& options);

/// What a host needs to know of the model without the frontend, as JSON; becomes Module::description and
/// Plan::model:
///   family, vocab_size, max_positions, bos_token_id, pad_token_id (or null), eos_token_id (a list),
///   ignore_index, tokenizer ("bytes" or "none"), head_tied, ignored_tensors (checkpoint tensors to pass
///   over, {} is a number), spec, config (an object for config.json, or null), generation
///   (generation_config.json's object)
Json describe_model(const TransformerSpec& spec, const Json& config, const Json& generation);

}  // namespace smelt
