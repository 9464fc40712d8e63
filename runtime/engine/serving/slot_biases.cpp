#include "runtime/engine/serving/slot_biases.h"

#include <algorithm>

#include "runtime/engine/generation/loop_inputs.h"

namespace smelt {

SlotBiases::Source::Source(const GenerationOptions& options) {
  if (!has_biases(options)) return;
  sequence_bias = options.sequence_bias, bad_words = options.bad_words_ids;
  suppressed = options.suppress_tokens, allowed = options.allowed_token_ids;
  ends = options.eos_token_id;
}

SlotBiases::SlotBiases(Session& session, size_t slots, int64_t vocabulary)
    : session_(session), vocabulary_(static_cast<size_t>(vocabulary)), sources_(slots, Source({})) {}

void SlotBiases::clear() {
  session_.clear_state(state::next_bias);
  sources_.assign(sources_.size(), Source({}));
}

void SlotBiases::set(size_t first, size_t count, const GenerationOptions& options) {
  const Source source(options);
  const auto slots = std::span(sources_).subspan(first, count);
  if (std::ranges::count(slots, source) == std::ssize(slots)) return;
  std::vector<float> biases(count * vocabulary_);
  for (size_t slot = 0; slot < count; ++slot)
    add_biases(options, std::span(biases).subspan(slot * vocabulary_, vocabulary_));
  session_.write_elements(state::next_bias, static_cast<int64_t>(first * vocabulary_), biases);
  std::ranges::fill(slots, source);
}

}  // namespace smelt
