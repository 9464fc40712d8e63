// Logits of the next token of any number of rows. They are computed by entries with KV caches
// (cached_logits.h), or by an entry that reads whole sequences.
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
  /// `entry` is "decode", which uses caches, or an entry that reads whole sequences: it has an i32 input of
  /// ids [batch,tokens] and an f32 output of logits [batch,tokens,vocabulary]. If that entry has an input
  /// decoder_input_ids, its other input of ids is the source, the input of an encoder. An empty name selects
  /// the entry "decode" if the plan has KV caches with one row per sequence, else the entry "logits". Throws
  /// Error if the plan or the entry is not as required.
  NextLogits(Session& session, const DecodeInterface& decode, std::string entry);

  int64_t vocabulary() const { return vocabulary_; }
  int64_t max_batch() const { return max_batch_; }     // rows per run of the entry
  int64_t max_length() const { return max_length_; }   // tokens per row that are read
  bool reads_source() const { return reads_source_; }  // whether there is an encoder
  bool takes_mask() const { return takes_mask_; }      // whether padding of sources can be masked

  /// Returns whether the rows of one run may have different lengths. Their sources may then have different
  /// lengths, too.
  bool mixes_lengths() const { return cached_ && (!reads_source() || takes_mask()); }

  /// Returns the logits of the next token of each row, [rows, vocabulary], in memory that is valid until the
  /// next call. If a row has more than max_length() tokens, only its last ones are read. Requires: all
  /// lengths are equal unless mixes_lengths().
  std::span<const float> run(std::span<const ModelRow> rows);

  /// Returns the caches; null if the entry reads whole sequences.
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
  std::string input_, output_, source_input_;  // ports of the entry; empty with caches
  bool reads_source_ = false, takes_mask_ = false;
  int64_t vocabulary_ = 0, max_batch_ = 0, max_length_ = 0;
  std::vector<int32_t> ids_, sources_, masks_;
  std::vector<float> logits_, last_;
};

}  // namespace smelt
