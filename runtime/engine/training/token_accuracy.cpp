#include "runtime/engine/training/token_accuracy.h"

#include <algorithm>
#include <span>

#include "runtime/base/error.h"

namespace smelt {
namespace {

std::optional<int64_t> ignored_token(const Session& session) {
  for (const Port& port : session.entry("evaluate").inputs)
    if (port.name == "labels" && port.ids) return port.ids->ignored;
  return {};
}

int64_t most_probable(std::span<const float> scores) {
  return std::ranges::max_element(scores) - scores.begin();
}

}  // namespace

void require_token_logits(const Session& session) {
  const PlanEntry* entry = session.plan().find_entry("logits");
  const auto is_source = [](const Port& port) { return port.name == "decoder_input_ids"; };
  if (!entry || entry->outputs.empty() || entry->outputs[0].dtype != DType::f32 ||
      entry->outputs[0].shape.size() != 3 || std::ranges::any_of(entry->inputs, is_source))
    fail(
        "token accuracy: expected a decoder or a masked language model, with an entry `logits` of one input "
        "of tokens");
}

TokenCounts count_tokens(Session& session, const Batch& batch, TokenTargets targets) {
  const HostTensor* labels = batch.find("labels");
  if (!labels || labels->shape.size() != 2 || labels->dtype != DType::i32)
    fail("token accuracy: expected labels i32[rows, positions]");
  const HostTensor logits = session.run("logits", batch.inputs_of(session.entry("logits")))[0];
  const auto tokens = static_cast<size_t>(logits.shape[2]);
  const int64_t length = logits.shape[1], shift = targets == TokenTargets::next ? 1 : 0;
  const std::optional<int64_t> ignored = ignored_token(session);
  TokenCounts counts;
  for (int64_t row = 0; row < logits.shape[0]; ++row)
    for (int64_t position = 0; position + shift < length; ++position) {
      const int32_t label = labels->as<int32_t>()[static_cast<size_t>(row * length + position + shift)];
      if (label == ignored) continue;
      const size_t at = static_cast<size_t>(row * length + position) * tokens;
      ++counts.targets;
      counts.correct += most_probable(logits.as<float>().subspan(at, tokens)) == label;
    }
  return counts;
}

}  // namespace smelt
