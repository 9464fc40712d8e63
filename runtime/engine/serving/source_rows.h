// Rows of a continuous batch (cache_rows.h) for the plan of an encoder-decoder: the entries `encode`,
// `decode`, `reorder` and `reorder_sources` (decode_contract.def). Row i of the batch uses slot i of two
// kinds of caches: that of the decoder's tokens, and that of the source, which has the keys and values of
// cross attention and a mask with the source's own length. So rows with sources of different lengths run
// together.
#pragma once

#include "runtime/engine/serving/slot_rows.h"

namespace smelt {

class SourceRows : public SlotRows {
 public:
  /// Throws Error if `encode` cannot write to given rows of the caches, or does not mask sources of different
  /// lengths.
  SourceRows(Session& session, const DecodeInterface& decode);

  bool reads_sources() const override { return true; }
  size_t source_capacity() const override { return source_capacity_; }
  void check_source(std::span<const int32_t> source) const override;
  /// On a CPU, each source is a run of its own, so that its result has the same bits as alone. On a GPU,
  /// sources are padded to a common length and share runs.
  void read_sources(std::span<const RowSource> sources) override;
  void prepare_sources(size_t most, size_t tokens) override;
  void clear(size_t row, size_t begin) override;
  size_t mixed_tokens() const override { return slots_; }
  void move(std::span<const RowMove> moves) override;
  /// Rows that begin get the source, too; others have it.
  void copy(std::span<const RowCopy> copies) override;

 private:
  size_t rows_per_run(size_t length) const;
  void copy_sources(const std::vector<int32_t>& from, const std::vector<int32_t>& to);
  void read_together(std::span<const RowSource> sources);

  size_t source_capacity_;
  std::vector<size_t> source_lengths_;  // by row
  std::string source_symbol_, rows_symbol_;
};

}  // namespace smelt
