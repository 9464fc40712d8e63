// The logits of the next token of any number of rows: from entries with caches where the plan has them, else
// from one that runs whole sequences.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/generation/cached_logits.h"
#include "runtime/engine/generation/model_row.h"
#include "runtime/session/session.h"

namespace smelt {

class NextLogits {
 public:
  /// Checks that the entry takes i32 ids [B,T] and gives f32 logits [B,T,V]; of an entry decode, with caches,
  /// [B,V]. Where it has an input decoder_input_ids, the other ids, or those of an entry encode, are what the
  /// encoder reads.
  NextLogits(Session& session, const DecodeInterface& decode, std::string entry);

  int64_t vocabulary() const { return vocabulary_; }
  int64_t max_batch() const { return max_batch_; }
  int64_t max_length() const { return max_length_; }
  bool reads_source() const { return reads_source_; }
  bool takes_mask() const { return takes_mask_; }

  /// Returns whether rows of one run may differ in how many tokens they, or their sources, have.
  bool mixes_lengths() const { return cached_ && (!reads_source() || takes_mask()); }

  /// One row of logits for each row, in memory that holds until the next call; of more tokens than max_length
  /// only the last are read.
  std::span<const float> run(std::span<const ModelRow> rows);

  /// The caches; null if the entry has none.
  CachedLogits* cached() { return cached_ ? &*cached_ : nullptr; }

 private:
  void use_caches(const DecodeInterface& decode);
  void use_whole(const PlanEntry& plan_entry);
  void run_batch(std::span<const ModelRow> rows, std::span<float> last);
  void run_whole(std::span<const ModelRow> rows, std::span<float> last);
  void add_sources(std::span<const ModelRow> rows, std::vector<InputTensor>& inputs);

  Session& session_;
  std::optional<CachedLogits> cached_;
  std::string entry_;
  std::string input_, output_, source_input_;  // without caches
  bool reads_source_ = false, takes_mask_ = false;
  int64_t vocabulary_ = 0, max_batch_ = 0, max_length_ = 0;
  std::vector<int32_t> ids_, sources_, masks_;
  std::vector<float> logits_, last_;
};

}  // namespace smelt
