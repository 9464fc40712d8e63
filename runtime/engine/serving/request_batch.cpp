#include "runtime/engine/serving/request_batch.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt {

ContinuousBatchCounts& ContinuousBatchCounts::operator+=(const ContinuousBatchCounts& other) {
  slots += other.slots, running += other.running, waiting += other.waiting, used_slots += other.used_slots;
  steps += other.steps, prompt_tokens += other.prompt_tokens, new_tokens += other.new_tokens;
  padding_tokens += other.padding_tokens, plan_tokens += other.plan_tokens;
  draft_tokens += other.draft_tokens, kept_draft_tokens += other.kept_draft_tokens;
  ended += other.ended, cancelled += other.cancelled, failed += other.failed;
  weights_version = std::min(weights_version, other.weights_version);
  weight_updates = std::max(weight_updates, other.weight_updates);
  cache_bytes += other.cache_bytes, pages += other.pages;
  return *this;
}

void RequestBatch::update_weights(WeightUpdate /*update*/) {
  fail("new weights: a batch of whole texts takes none");
}

void RequestBatch::write_adapter(const ServedAdapter& /*adapter*/, const AdapterWeights& /*weights*/) {
  fail("adapters: a batch of whole texts has none");
}

}  // namespace smelt
