// Rows of a continuous batch (cache_rows.h) for plans whose KV caches have one slot per row: the entries
// `decode` and `reorder` (decode_contract.def). Row i of the batch uses slot i of the caches.
#pragma once

#include "runtime/engine/generation/cache_bounds.h"
#include "runtime/engine/serving/cache_rows.h"

namespace smelt {

class SlotRows : public CacheRows {
 public:
  SlotRows(Session& session, const DecodeInterface& decode);

  void move(size_t from, size_t to, size_t length) override;
  void copy(std::span<const RowCopy> copies, size_t length) override;
  Read read(std::span<const int32_t> prompt, size_t past, size_t chunk) override;
  size_t begin(size_t row, std::span<const int32_t> prompt, size_t tokens, size_t rows) override;
  std::span<const float> run(std::span<const RowStep> steps) override;

 protected:
  /// Copies the first `length` tokens of rows `from` to rows `to`, by the entry `reorder`. The rows `to` are
  /// different, and none of them is a row `from`.
  void copy_tokens(std::span<const int32_t> from, std::span<const int32_t> to, size_t length);
  /// Runs an entry that copies the first `places` positions of rows.
  void copy_rows(const char* entry, std::span<const int32_t> from, std::span<const int32_t> to,
                 size_t places);

  Session& session_;
  CacheBounds bounds_;

 private:
  /// Runs the entry `decode` on `tokens` of row 0's prompt. The caches hold the `past` tokens before them.
  std::span<const float> read_run(std::span<const int32_t> tokens, size_t past);
  std::span<const float> logits_of(std::span<const RowStep> steps);
  /// Runs the entry `decode`, and returns its logits.
  std::span<const float> decode(std::span<const InputTensor> inputs);

  const DecodePort& ids_;  // the input of tokens
  size_t read_ = 0;        // number of tokens of the prompt in row 0 that are in the caches
  std::vector<float> logits_;
};

}  // namespace smelt
