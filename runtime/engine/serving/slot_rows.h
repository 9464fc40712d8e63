// Rows of a continuous batch (cache_rows.h) for plans whose KV caches have one slot per row: the entries
// `decode` and `reorder` (decode_contract.def). Row i of the batch uses slot i of the caches.
#pragma once

#include "runtime/engine/generation/cache_bounds.h"
#include "runtime/engine/serving/cache_rows.h"
#include "runtime/engine/serving/candidate_outputs.h"
#include "runtime/engine/serving/place_rows.h"

namespace smelt {

class SlotRows : public CacheRows {
 public:
  SlotRows(Session& session, const DecodeInterface& decode);

  void move(std::span<const RowMove> moves) override;
  /// If the plan has the entry decode_beams, the rows `to` read the tokens in the slots of the rows `from`.
  /// Otherwise the tokens are copied.
  void copy(std::span<const RowCopy> copies) override;
  Read read(std::span<const int32_t> prompt, size_t past, size_t chunk) override;
  size_t begin(size_t row, std::span<const int32_t> prompt, size_t tokens, size_t rows,
               RowAdapter adapter) override;
  void clear(size_t row, size_t begin) override;
  void end(size_t row) override;
  void forget() override;
  std::span<const float> run(std::span<const RowStep> steps) override;
  bool gives_candidates() const override { return has_beams_; }
  RowCandidates candidates(size_t index) const override { return candidates_.row(candidate_rows_[index]); }

 protected:
  /// Runs an entry that copies the first positions of rows: `length` of them, rounded up, at most `capacity`.
  void copy_rows(const char* entry, std::vector<int32_t> from, std::vector<int32_t> to, size_t length,
                 size_t capacity);
  /// Returns the number of rows that a run of `rows` rows has with its padding.
  size_t with_padding(size_t rows) const;

  Session& session_;
  CacheBounds bounds_;

 private:
  /// Runs the entry `decode` on `tokens` of row 0's prompt. The caches hold the `past` tokens before them.
  std::span<const float> read_run(std::span<const int32_t> tokens, size_t past);
  std::span<const float> logits_of(std::span<const RowStep> steps);
  /// Runs the entry `decode`, and returns its logits.
  std::span<const float> decode(std::span<const InputTensor> inputs);
  /// Runs the entry `decode_beams`, and keeps the candidates, and the logits if a step needs them.
  void decode_beams(std::vector<InputTensor> inputs, std::span<const RowStep> steps);

  void add_adapters(std::vector<InputTensor>& inputs) const;

  const DecodePort& ids_;  // the input of tokens
  bool has_beams_;         // the plan has the entry decode_beams
  bool pads_;              // runs have one of a few numbers of rows
  PlaceRows places_;
  std::vector<size_t> held_;       // by row: tokens in the caches
  std::vector<int32_t> adapters_;  // by row: slot of its adapter; -1: none
  std::vector<float> logits_;
  CandidateOutputs candidates_;
  std::vector<size_t> candidate_rows_;  // rows of the last run that have candidates
};

}  // namespace smelt
