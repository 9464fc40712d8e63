#include "passes/graph/simplify/kept_attention.h"

#include <fmt/format.h>

#include "ir/analysis/attention_form.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Up to this number of keys the matrices of scores are small, and batched matmuls are as fast
/// (docs/bench/benchmarks.md). It is decided here and not measured, because backward finds other values in
/// memory: a plan with both variants would need the memory of both and twice the steps between them.
constexpr int64_t kMostUnfusedKeys = 128;

std::optional<std::string> why_apart(const Node& node, const KeptAttention& rule) {
  const Target& target = *rule.target;
  if (auto reason = target.refuses(node, rule.storage)) return reason;
  if (!target.can.f32_attention_gradient && rule.trains && rule.storage == DType::f32)
    return "in f32 no kernel computes its gradient";
  if (rule.fused == FusedAttention::never) return "--attention=unfused asks for matmuls";
  const int64_t keys = node.graph().module().symbols.upper(node.operand(1)->shape()[1]);
  // On a GPU short sequences spend their time in launches; a CPU has kernels for blocks of few queries alone.
  const bool is_quicker = !rule.trains && (target.can.launches || may_be_decode_attention(node));
  if (rule.fused == FusedAttention::always || keys > kMostUnfusedKeys || is_quicker) return std::nullopt;
  return fmt::format("up to {} keys matmuls are as fast, and there are at most {}", kMostUnfusedKeys, keys);
}

/// Bytes of the matrices of scores, which are stored in memory where an attention is decomposed.
int64_t score_bytes(const Node& attention, DType storage) {
  const Shape &q = attention.operand(0)->shape(), &k = attention.operand(1)->shape();
  return bytes_at_bounds(attention.graph().module().symbols, q[0] * q[1] * q[2] * k[1], storage);
}

/// Graphs have clones, and passes ask more than once.
void note_refusal(const Node& node, const std::string& reason, const KeptAttention& rule) {
  FusionReport::Refusal refusal{fmt::format("{} \"{}\"", info(node.op()).name, node.source), reason,
                                score_bytes(node, rule.storage)};
  std::vector<FusionReport::Refusal>& known = rule.report->refusals;
  if (!llvm::is_contained(known, refusal)) known.push_back(std::move(refusal));
}

}  // namespace

bool keeps_attention(const Node& node, const KeptAttention& rule) {
  if (!rule.target) return true;
  const std::optional<std::string> reason = why_apart(node, rule);
  if (reason && rule.target->same_bits)
    fail(
        "--same-bits: attention \"{}\" would become matmuls around a softmax, whose sums depend on the "
        "number of keys: "
        "{}; leave --same-bits out for this model",
        node.source, *reason);
  if (reason && rule.report) note_refusal(node, *reason, rule);
  return !reason;
}

}  // namespace smelt
