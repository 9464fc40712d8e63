// Rows of a continuous batch whose KV caches are lists of pages (page_rows.h). One run can read the next
// token of some rows and parts of the prompts of other rows. The run executes the entry @mixed_pages
// (decode_contract.def) or, if the plan has it, @tiled_pages. With @tiled_pages, a run that reads one token
// of each row, and samples a token for each, executes the entry @next_pages or, if the run has one row and
// the plan has this entry, @next_row.
//
// A device that captures runs (DeviceKind::captures_runs) pads a run to one of a few sizes. A run of one
// token per row is padded to padded_size(rows) rows. Any other run is padded to padded_size(tokens) tokens,
// at least 16, and to as many rows as there may be texts or, with a draft, as it may have rows. prepare()
// runs each of these sizes, so that later runs find them captured. Tokens of padding are not stored in the
// caches. On a CPU the number of tokens per run is limited (CacheRows::exact_rows). With this limit, the
// result of a token does not depend on the other tokens of the run, bit for bit.
#pragma once

#include <algorithm>

#include "runtime/engine/serving/choosing_rows.h"

namespace smelt {

class MixedRows : public ChoosingRows {
 public:
  MixedRows(Session& session, const DecodeInterface& decode, bool shares_prefixes);
  size_t mixed_tokens() const override { return run_tokens_; }
  size_t mixed_prompts() const override;
  size_t consecutive_steps() const override { return slots(); }
  void limit_texts(size_t texts) override { texts_ = texts; }
  void prepare() override;

 protected:
  size_t add_tokens(RunInputs& inputs, std::span<const RowStep> steps) override;
  int32_t slot_of(const RowStep& step, std::span<const RowStep> steps) const override;
  const char* entry_for(std::span<const RowStep> steps) const override;

 private:
  /// Numbers of rows and of tokens of a run. `one_each`: the run reads one token of each row, no row has a
  /// draft, and a token is sampled for each row.
  struct Size {
    size_t rows, tokens;
    bool one_each;
  };
  static Size own_size(std::span<const RowStep> steps);
  Size padded(Size own) const;
  /// Returns the number of rows that a run of `rows` rows and `tokens` tokens has with its padding.
  size_t padded_rows(size_t rows, size_t tokens) const {
    return rows <= texts_ ? texts_ : std::max(rows, std::min(slots(), tokens));
  }
  /// Returns the size of a run of these steps, padding included.
  Size size_of(std::span<const RowStep> steps) const;
  std::vector<Size> sizes() const;
  /// Returns whether the run is one of @next_pages or @next_row: the plan has @tiled_pages, and the run reads
  /// one token of each row and samples a token for each.
  bool only_continues(std::span<const RowStep> steps) const {
    return tiles_prompts_ && size_of(steps).one_each;
  }
  /// Adds the inputs of @tiled_pages that divide the queries of the run into single tokens and tiles.
  static void add_tiles(RunInputs& inputs, std::span<const RowStep> steps, Size size);

  size_t run_tokens_, texts_;
  bool tiles_prompts_, has_next_row_;
  Size padding_ = {0, 0, true};  // size of a run without steps
};

}  // namespace smelt
