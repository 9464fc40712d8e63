// Selection of the attention nodes that stay whole, because a fused kernel of the target computes them.
// decompose turns all others into matmuls and a softmax.
#pragma once

#include <array>
#include <optional>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"
#include "passes/graph/fusion/fusion_report.h"

namespace smelt {

/// Policy for attentions that the target's kernels support. `always`: all of them stay whole. `automatic`: an
/// attention stays whole unless separate matmuls are as fast. `never`: none stays whole.
enum class FusedAttention : uint8_t { automatic, always, never };

/// Options that select the attention nodes that stay whole.
struct KeptAttention {
  std::optional<Target> target = {};  // none: every attention stays whole
  DType storage = DType::f32;         // element type of queries, keys and values in memory
  bool trains = false;                // true: the plan also computes gradients
  FusedAttention fused = FusedAttention::automatic;
  FusionReport* report = nullptr;  // receives the reason for each refusal; null: no report
};
template <typename Field>
void visit_options(Field& field, KeptAttention& o) {
  static constexpr std::array<std::string_view, 3> kFused = {"automatic", "always", "never"};
  field("target", o.target), field("storage", o.storage), field("trains", o.trains);
  field("fused", NamedOption{o.fused, kFused});
}

/// Returns whether the node stays whole; if not, adds the reason to `rule.report`. Requires: `node` is an
/// attention or its gradient.
bool keeps_attention(const Node& node, const KeptAttention& rule);

}  // namespace smelt
