// Memory of the candidates of a run (row_candidates.h), which an entry of the plan computes for each row.
#pragma once

#include <vector>

#include "runtime/engine/generation/row_candidates.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {

class CandidateOutputs {
 public:
  /// `vocabulary`: number of tokens of the model.
  explicit CandidateOutputs(int64_t vocabulary) : vocabulary_(static_cast<size_t>(vocabulary)) {}

  /// Returns the outputs of a run of `rows` rows. They are valid until the next call.
  std::vector<OutputBuffer> buffers(size_t rows) {
    tokens_.resize(rows * kCount), log_probabilities_.resize(rows * kCount);
    return {port::candidate_ids.buffer(tokens_),
            port::candidate_log_probabilities.buffer(log_probabilities_)};
  }
  /// Returns the candidates of a row of the last run.
  RowCandidates row(size_t index) const {
    return {std::span(tokens_).subspan(index * kCount, kCount),
            std::span(log_probabilities_).subspan(index * kCount, kCount), vocabulary_};
  }

 private:
  static constexpr auto kCount = static_cast<size_t>(kBeamCandidates);
  size_t vocabulary_;
  std::vector<int32_t> tokens_;           // [rows, kCount]
  std::vector<float> log_probabilities_;  // [rows, kCount]
};

}  // namespace smelt
