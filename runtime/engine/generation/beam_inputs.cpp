#include "runtime/engine/generation/beam_inputs.h"

namespace smelt {

void BeamInputs::add(const GenerationOptions& options) {
  beams_.resize(beams_.size() + static_cast<size_t>(width_));
  const size_t end = ends_.size() + static_cast<size_t>(kEndTokens);
  ends_.insert(ends_.end(), options.eos_token_id.begin(), options.eos_token_id.end());
  ends_.resize(end, -1);
}

void BeamInputs::add(const LoopPlace& place, const GenerationOptions& options) {
  add(options);
  for (int64_t beam = 0; beam < width_; ++beam) rows_.add(place, options);
}

std::vector<InputTensor> BeamInputs::of_sentences() const {
  const int64_t sentences = std::ssize(beams_) / width_;
  return {port::beams.tensor({sentences, width_}, beams_.data()),
          port::ends.tensor({sentences, kEndTokens}, ends_.data())};
}

std::vector<InputTensor> BeamInputs::tensors() const {
  std::vector<InputTensor> all = rows_.tensors();
  for (InputTensor& input : of_sentences()) all.push_back(std::move(input));
  return all;
}

}  // namespace smelt
