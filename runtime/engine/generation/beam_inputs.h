// Inputs of the entries @next_beams and @next_beams_guided (decode_contract.def) for a run of some sentences.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine/generation/loop_inputs.h"

namespace smelt {

class BeamInputs {
 public:
  /// `beams`: beams of each sentence.
  explicit BeamInputs(int64_t beams) : width_(beams) {}

  /// Adds a sentence. Of the options, this function reads the end tokens alone.
  void add(const GenerationOptions& options);
  /// Adds a sentence, and a row for each of its beams, which are at the same place.
  void add(const LoopPlace& place, const GenerationOptions& options);
  /// Return the inputs of both entries, and all inputs of @next_beams. Their data are in this object.
  std::vector<InputTensor> of_sentences() const;
  std::vector<InputTensor> tensors() const;

 private:
  int64_t width_;
  LoopInputs rows_;
  std::vector<int32_t> ends_, beams_;
};

}  // namespace smelt
