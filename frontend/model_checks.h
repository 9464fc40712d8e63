// Checks before a graph is built. They find combinations of spec fields and options that build_transformer
// does not support. They also find specs for which it cannot build the entries with KV caches, which
// generation uses.
#pragma once

#include <vector>

#include "frontend/build_transformer.h"

namespace smelt {

inline bool has_patches(const TransformerSpec& spec) { return spec.embedding.patch_size > 0; }
inline bool has_encoder(const TransformerSpec& spec) { return spec.encoder.layers > 0; }
inline bool has_decoder(const TransformerSpec& spec) { return spec.decoder.layers > 0; }
inline bool has_both(const TransformerSpec& spec) { return has_encoder(spec) && has_decoder(spec); }
/// Returns whether a row has one label, or one number per class.
inline bool has_classes(const TransformerSpec& spec) {
  return spec.head.kind == HeadKind::sequence_classes || spec.head.kind == HeadKind::image_classes ||
         spec.head.kind == HeadKind::choices;
}
/// Returns whether the model predicts the tokens of masked positions.
inline bool fills_masks(const TransformerSpec& spec) {
  return spec.head.kind == HeadKind::mlm || spec.head.kind == HeadKind::pretraining;
}

/// Returns one problem per unsupported combination; empty if the spec can be built with these options.
/// Requires: the spec is completed (complete()).
std::vector<SpecProblem> unsupported(const TransformerSpec& spec, const BuildOptions& options);
/// Returns the reasons why the entries with KV caches cannot be built; empty if they can.
std::vector<SpecProblem> problems_with_caches(const TransformerSpec& spec, const BuildOptions& options);

}  // namespace smelt
