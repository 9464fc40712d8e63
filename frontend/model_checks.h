// Checks for combinations that no model supports, or that no entries with caches support, before anything is
// built.
#pragma once

#include <vector>

#include "frontend/build_transformer.h"

namespace smelt {

inline bool has_patches(const TransformerSpec& spec) { return spec.embedding.patch_size > 0; }
inline bool has_encoder(const TransformerSpec& spec) { return spec.encoder.layers > 0; }
inline bool has_decoder(const TransformerSpec& spec) { return spec.decoder.layers > 0; }
inline bool has_both(const TransformerSpec& spec) { return has_encoder(spec) && has_decoder(spec); }
inline bool has_classes(const TransformerSpec& spec) {
  return spec.head.kind == HeadKind::sequence_classes || spec.head.kind == HeadKind::image_classes;
}

/// Returns unsupported combinations, by field.
std::vector<SpecProblem> unsupported(const TransformerSpec& spec, const BuildOptions& options);
/// Returns the reasons why there are no entries with caches.
std::vector<SpecProblem> problems_with_caches(const TransformerSpec& spec, const BuildOptions& options);

}  // namespace smelt
