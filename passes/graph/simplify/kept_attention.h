// Selection of the attentions that stay whole for a target's kernels; all others become matmuls around a
// softmax.
#pragma once

#include <array>
#include <optional>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"
#include "passes/graph/fusion/fusion_report.h"

namespace smelt {

/// Policy for attentions that the target supports; automatic: an attention stays whole unless matmuls are as
/// fast.
enum class FusedAttention : uint8_t { automatic, always, never };

struct KeptAttention {
  std::optional<Target> target = {};  // none: every attention stays
  DType storage = DType::f32;
  bool trains = false;
  FusedAttention fused = FusedAttention::automatic;
  FusionReport* report = nullptr;  // receives the reasons of those that do not stay
};
template <typename Field>
void visit_options(Field& field, KeptAttention& o) {
  static constexpr std::array<std::string_view, 3> kFused = {"automatic", "always", "never"};
  field("target", o.target), field("storage", o.storage), field("trains", o.trains);
  field("fused", NamedOption{o.fused, kFused});
}

/// Requires: `node` is an attention or its gradient.
bool keeps_attention(const Node& node, const KeptAttention& rule);

}  // namespace smelt
