// The logits of the next token of any number of rows, from an entry that runs whole sequences.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/session.h"

namespace smelt {

struct ModelRow {
  std::vector<int32_t> tokens;
  std::span<const int32_t> source;  // what the encoder reads, where there is one
  std::span<const int32_t> mask;    // of the source, 0: padding; empty: all are seen
};

class NextLogits {
 public:
  /// Checks that the entry takes i32 ids [B,T] and gives f32 logits [B,T,V]. Where it has an input
  /// decoder_input_ids, the other ids are what the encoder reads.
  NextLogits(Session& session, std::string entry);

  int64_t vocabulary() const { return vocabulary_; }
  int64_t max_batch() const { return max_batch_; }
  int64_t max_length() const { return max_length_; }
  bool reads_source() const { return !source_input_.empty(); }
  bool takes_mask() const { return !mask_input_.empty(); }

  /// One row of logits for each row, in memory that holds until the next call. All rows have as many tokens,
  /// and as long a source; of more tokens than max_length only the last are read.
  std::span<const float> run(std::span<const ModelRow> rows);

 private:
  void run_batch(std::span<const ModelRow> rows, std::span<float> last);
  void add_sources(std::span<const ModelRow> rows, std::vector<InputTensor>& inputs);

  Session& session_;
  std::string entry_;
  std::string input_, output_, source_input_, mask_input_;
  int64_t vocabulary_ = 0, max_batch_ = 0, max_length_ = 0;
  std::vector<int32_t> ids_, sources_, masks_;
  std::vector<float> logits_, last_;
};

}  // namespace smelt
