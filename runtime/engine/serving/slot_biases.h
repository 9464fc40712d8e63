// Biases of the rows in a plan's slots (state::next_bias of decode_contract.def), by which entries that
// sample change the scores of tokens. A row has a bias for each token of the vocabulary. So biases are
// written only if a slot's next row has others than the row before it; most requests to a model have the
// same.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine/generation/generation_options.h"
#include "runtime/session/session.h"

namespace smelt {

class SlotBiases {
 public:
  /// Requires: the plan has the state next_bias, with `slots` rows of `vocabulary` elements.
  SlotBiases(Session& session, size_t slots, int64_t vocabulary);

  /// Sets all biases to 0.
  void clear();
  /// Sets the biases of `count` slots from `first` on to those of the options, for runs that are started
  /// later.
  void set(size_t first, size_t count, const GenerationOptions& options);

 private:
  /// The options on which biases depend (add_biases of loop_inputs.h). Without biases, all are empty.
  struct Source {
    explicit Source(const GenerationOptions& options);
    std::vector<SequenceBias> sequence_bias;
    std::vector<std::vector<int32_t>> bad_words;
    std::vector<int32_t> suppressed, allowed, ends;
    bool operator==(const Source&) const = default;
  };

  Session& session_;
  size_t vocabulary_;
  std::vector<Source> sources_;  // by slot
};

}  // namespace smelt
